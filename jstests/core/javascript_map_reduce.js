// SPDX-License-Identifier: Apache-2.0
// mapReduce counts words, into the reply and into collections.
db.c.insertMany([{_id: 1, text: 'a rose is a rose'}, {_id: 2, text: 'is it'}]);
const command = (rest) => assert.commandWorked(db.runCommand(Object.assign({
    mapReduce: 'c',
    map: Code('function() { this.text.split(" ").forEach(function(word) { emit(word, 1); }); }'),
    reduce: Code('function(word, counts) { return Array.sum(counts); }')}, rest)));
const counts = (rows) => Object.fromEntries(rows.map((row) => [row._id, Number(row.value)]));
assert.eq(counts(command({out: {inline: 1}}).results), {a: 2, rose: 2, is: 2, it: 1});
assert.eq(command({out: 'counts'}).result, 'counts');
command({out: {reduce: 'counts'}, query: {_id: 2}});
assert.eq(counts(db.counts.find().toArray()), {a: 2, rose: 2, is: 3, it: 2});
command({out: {merge: 'counts'}, query: {_id: 2}, scope: {factor: 100}, finalize: 'function(key, value) { return value * factor; }'});
assert.eq(counts(db.counts.find().toArray()), {a: 2, rose: 2, is: 100, it: 100});

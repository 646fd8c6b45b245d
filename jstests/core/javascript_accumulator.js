// SPDX-License-Identifier: Apache-2.0
// $accumulator keeps a state of its own for each group.
db.c.insertMany([1, 2, 3, 4, 5].map((n) => ({_id: n, odd: n % 2 == 1, n})));
const longest = {$accumulator: {
    init: 'function(start) { return {list: start}; }', initArgs: [[]],
    accumulate: 'function(state, n) { state.list.push(n); return state; }', accumulateArgs: ['$n'],
    merge: 'function(one, other) { return {list: one.list.concat(other.list)}; }',
    finalize: 'function(state) { return state.list.sort().join("-"); }', lang: 'js'}};
const rows = db.c.aggregate([{$group: {_id: '$odd', all: longest}}, {$sort: {_id: 1}}]).toArray();
assert.eq(rows.map((row) => row.all), ['2-4', '1-3-5']);

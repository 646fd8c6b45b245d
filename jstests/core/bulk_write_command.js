// SPDX-License-Identifier: Apache-2.0
// The bulkWrite command writes to several collections and says of each operation what it did.
const other = db.getSiblingDB(db.getName() + '_other');
const run = (ops, more = {}) => db.getSiblingDB('admin').tryCommand(
    {bulkWrite: 1, ops, nsInfo: [{ns: db.getName() + '.c'}, {ns: other.getName() + '.d'}], ...more});

let reply = run([
    {insert: 0, document: {_id: 1, a: 1}},
    {insert: 1, document: {_id: 2}},
    {update: 0, filter: {_id: 1}, updateMods: {$inc: {a: 1}}},
    {update: 1, filter: {_id: 3}, updateMods: {b: 1}, upsert: true},
    {delete: 1, filter: {}, multi: true},
]);
assert.commandWorked(reply);
assert.eq(reply.cursor.ns, 'admin.$cmd.bulkWrite');
assert.eq(reply.cursor.firstBatch, [
    {ok: 1, idx: 0, n: 1},
    {ok: 1, idx: 1, n: 1},
    {ok: 1, idx: 2, n: 1, nModified: 1},
    {ok: 1, idx: 3, n: 1, nModified: 0, upserted: {_id: 3}},
    {ok: 1, idx: 4, n: 2},
]);
assert.eq([reply.nErrors, reply.nInserted, reply.nMatched, reply.nModified, reply.nUpserted, reply.nDeleted], [0, 2, 1, 1, 1, 2]);
assert.eq(db.c.find().toArray(), [{_id: 1, a: 2}]);

// Ordered: what follows an error is not done. errorsOnly: what worked is only counted.
const ops = [{insert: 0, document: {_id: 1}}, {insert: 0, document: {_id: 5}}];
reply = run(ops, {errorsOnly: true});
assert.eq([reply.nErrors, reply.nInserted, reply.cursor.firstBatch.length], [1, 0, 1]);
assert.eq(reply.cursor.firstBatch[0].keyValue, {_id: 1});
reply = run(ops, {errorsOnly: true, ordered: false});
assert.eq([reply.nErrors, reply.nInserted, reply.cursor.firstBatch.length], [1, 1, 1]);

// More results than the client takes at once.
reply = run([...Array(10).keys()].map(i => ({insert: 0, document: {_id: 100 + i}})), {cursor: {batchSize: 4}});
assert.eq(reply.cursor.firstBatch.length, 4);
reply = db.getSiblingDB('admin').runCommand({getMore: reply.cursor.id, collection: '$cmd.bulkWrite'});
assert.eq(reply.cursor.nextBatch.map(result => result.idx), [4, 5, 6, 7, 8, 9]);
assert.eq(reply.cursor.id, 0);

assert.commandFailedWithCode(run([]), 16);
assert.commandFailedWithCode(run([{insert: 2, document: {}}]), 2);
assert.commandFailedWithCode(db.tryCommand({bulkWrite: 1, ops, nsInfo: []}), 13);
other.dropDatabase();

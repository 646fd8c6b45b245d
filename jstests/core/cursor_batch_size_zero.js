// SPDX-License-Identifier: Apache-2.0
// A batch size of zero opens a cursor without documents.
db.c.insertMany([{_id: 1}, {_id: 2}]);
const {cursor} = db.runCommand({find: 'c', batchSize: 0});
assert.eq(cursor.firstBatch, []);
assert.neq(Number(cursor.id), 0);
assert.eq(db.runCommand({getMore: cursor.id, collection: 'c'}).cursor.nextBatch.length, 2);

// SPDX-License-Identifier: Apache-2.0
// killCursors says which cursors it ended and which it did not find.
db.c.insertMany([{_id: 1}, {_id: 2}]);
const {cursor} = db.runCommand({find: 'c', batchSize: 1});
const reply = db.runCommand({killCursors: 'c', cursors: [cursor.id, NumberLong(99)]});
assert.eq(reply.cursorsKilled.map(Number), [Number(cursor.id)]);
assert.eq(reply.cursorsNotFound.map(Number), [99]);
assert.throwsWithCode(() => db.runCommand({getMore: cursor.id, collection: 'c'}), 43);

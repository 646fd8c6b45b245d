// SPDX-License-Identifier: Apache-2.0
// getMore of an unknown cursor is error 43; of another collection's cursor error 13.
const error = assert.throwsWithCode(() => db.runCommand({getMore: NumberLong('12345678901234'), collection: 'c'}), 43);
assert.eq(error.codeName, 'CursorNotFound');
db.c.insertMany([{_id: 1}, {_id: 2}]);
const {cursor} = db.runCommand({find: 'c', batchSize: 1});
assert.throwsWithCode(() => db.runCommand({getMore: cursor.id, collection: 'd'}), 13);
db.runCommand({killCursors: 'c', cursors: [cursor.id]});

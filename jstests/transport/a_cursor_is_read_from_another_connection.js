// SPDX-License-Identifier: Apache-2.0
// A cursor belongs to a session and not to a connection.
load('jstests/libs/connections.js');
db.c.insertMany([{_id: 1}, {_id: 2}, {_id: 3}]);
const lsid = {id: UUID()};
const first = connection();
const {cursor} = first.getDB(db.getName()).runCommand({find: 'c', batchSize: 1, lsid});
first.close();
assert.eq(db.runCommand({getMore: cursor.id, collection: 'c', lsid}).cursor.nextBatch, [{_id: 2}, {_id: 3}]);

// SPDX-License-Identifier: Apache-2.0
// A cursor of one session cannot be read in another.
db.c.insertMany([{_id: 1}, {_id: 2}]);
const [one, two] = [db.getMongo().startSession(), db.getMongo().startSession()];
const {cursor} = one.getDatabase(db.getName()).runCommand({find: 'c', batchSize: 1});
assert.throws(() => two.getDatabase(db.getName()).runCommand({getMore: cursor.id, collection: 'c'}));
assert.eq(one.getDatabase(db.getName()).runCommand({getMore: cursor.id, collection: 'c'}).cursor.nextBatch.length, 1);

// SPDX-License-Identifier: Apache-2.0
// A cursor can be read and killed by the user who opened it.
load('jstests/libs/as_user.js');
db.c.insertMany([{_id: 1}, {_id: 2}, {_id: 3}]);
const [ann, bob] = [asUser('ann', ['read']), asUser('bob', ['read'])];
const {cursor} = ann.runCommand({find: 'c', batchSize: 1});
assert.throwsWithCode(() => bob.runCommand({getMore: cursor.id, collection: 'c'}), 13);
assert.eq(ann.runCommand({getMore: cursor.id, collection: 'c'}).cursor.nextBatch.length, 2);
db.dropAllUsers();

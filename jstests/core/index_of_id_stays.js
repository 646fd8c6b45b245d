// SPDX-License-Identifier: Apache-2.0
// The index on _id cannot be dropped or hidden.
db.c.insertOne({_id: 1});
assert.eq(assert.throwsWithCode(() => db.c.dropIndex('_id_'), 72).codeName, 'InvalidOptions');
assert.throws(() => db.c.hideIndex('_id_'));
assert.eq(db.c.getIndexKeys(), [{_id: 1}]);
assert.eq(assert.throwsWithCode(() => db.c.dropIndex('none_1'), 27).codeName, 'IndexNotFound');

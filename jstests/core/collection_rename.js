// SPDX-License-Identifier: Apache-2.0
// renameCollection().
db.a.insertOne({_id: 1});
db.a.renameCollection('b');
assert.eq(db.getCollectionNames(), ['b']);
db.a.insertOne({_id: 2});
assert.throwsWithCode(() => db.a.renameCollection('b'), 48);
db.a.renameCollection('b', true);
assert.eq(db.b.find().toArray(), [{_id: 2}]);

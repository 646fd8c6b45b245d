// SPDX-License-Identifier: Apache-2.0
// A collection moves to another database with its documents and indexes.
const other = db.getSiblingDB(db.getName() + '_o');
db.c.createIndex({a: 1});
db.c.insertMany([{_id: 1, a: 1}, {_id: 2, a: 2}]);
db.adminCommand({renameCollection: db.c.getFullName(), to: other.getName() + '.d'});
assert.eq(other.d.find({a: 2}).hint('a_1').toArray(), [{_id: 2, a: 2}]);
assert.eq(db.getCollectionNames(), []);
other.dropDatabase();

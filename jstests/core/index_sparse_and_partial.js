// SPDX-License-Identifier: Apache-2.0
// Sparse and partial indexes leave documents out.
db.c.createIndex({a: 1}, {unique: true, sparse: true});
db.c.insertMany([{}, {}, {a: 1}]);
assert.throwsWithCode(() => db.c.insertOne({a: 1}), 11000);
db.d.createIndex({a: 1}, {unique: true, partialFilterExpression: {live: true}});
db.d.insertMany([{a: 1}, {a: 1}, {a: 1, live: true}]);
assert.throwsWithCode(() => db.d.insertOne({a: 1, live: true}), 11000);

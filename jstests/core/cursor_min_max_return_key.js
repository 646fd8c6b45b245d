// SPDX-License-Identifier: Apache-2.0
// min(), max() and returnKey() with a hint.
db.c.createIndex({a: 1});
db.c.insertMany([{a: 1}, {a: 2}, {a: 3}]);
assert.eq(db.c.find().hint({a: 1}).min({a: 2}).max({a: 3}).toArray().map((document) => document.a), [2]);
assert.eq(db.c.find({a: 3}).hint({a: 1}).returnKey().toArray(), [{a: 3}]);

// SPDX-License-Identifier: Apache-2.0
// The same index twice is one index, with other options an error.
db.c.createIndex({a: 1});
db.c.createIndex({a: 1});
assert.eq(db.c.getIndexes().length, 2);
assert.throws(() => db.c.createIndex({a: 1}, {unique: true}));
assert.throws(() => db.c.createIndex({b: 1}, {name: 'a_1'}));

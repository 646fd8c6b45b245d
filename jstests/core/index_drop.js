// SPDX-License-Identifier: Apache-2.0
// Indexes are dropped by name, by keys, or all.
db.c.createIndexes([{a: 1}, {b: 1}, {c: 1}]);
db.c.dropIndex('a_1');
db.c.dropIndex({b: 1});
assert.eq(db.c.getIndexes().map((index) => index.name), ['_id_', 'c_1']);
db.c.dropIndexes();
assert.eq(db.c.getIndexes().length, 1);
assert.throwsWithCode(() => db.c.dropIndex('none'), 27);
assert.throwsWithCode(() => db.c.dropIndex('_id_'), 72);
assert.throws(() => db.c.dropIndex('*'));

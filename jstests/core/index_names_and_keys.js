// SPDX-License-Identifier: Apache-2.0
// createIndex() names an index after its keys.
assert.eq(db.c.createIndex({a: 1, 'b.c': -1}), 'a_1_b.c_-1');
assert.eq(db.c.createIndexes([{x: 1}, {y: -1}]), ['x_1', 'y_-1']);
assert.eq(db.c.createIndex({z: 1}, {name: 'own'}), 'own');
assert.eq(db.c.getIndexes().map((index) => index.name), ['_id_', 'a_1_b.c_-1', 'x_1', 'y_-1', 'own']);
assert.eq(db.c.getIndexKeys()[1], {a: 1, 'b.c': -1});

// SPDX-License-Identifier: Apache-2.0
// distinct() with arrays and a filter.
db.c.insertMany([{a: 1, t: ['x', 'y']}, {a: 2, t: ['y']}, {a: 1}]);
assert.eq(db.c.distinct('a'), [1, 2]);
assert.eq(db.c.distinct('t'), ['x', 'y']);
assert.eq(db.c.distinct('t', {a: 2}), ['y']);
assert.eq(db.c.distinct('none'), []);

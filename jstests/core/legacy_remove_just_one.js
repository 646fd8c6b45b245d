// SPDX-License-Identifier: Apache-2.0
// remove() with justOne as a flag or an option.
db.c.insertMany([{a: 1}, {a: 1}, {a: 1}, {a: 1}]);
db.c.remove({a: 1}, true);
db.c.remove({a: 1}, {justOne: true});
assert.eq(db.c.count(), 2);
db.c.remove({});
assert.eq(db.c.count(), 0);
assert.throws(() => db.c.remove());

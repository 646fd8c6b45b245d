// SPDX-License-Identifier: Apache-2.0
// An index made late holds what was there before.
db.c.insertMany(Array.from({length: 500}, (_, n) => ({n: n % 50})));
db.c.createIndex({n: 1});
assert.eq(db.c.find({n: 7}).hint({n: 1}).itcount(), 10);
assert.eq(db.c.find().hint({n: 1}).itcount(), 500);

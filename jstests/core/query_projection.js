// SPDX-License-Identifier: Apache-2.0
// Projections include, exclude and slice.
db.c.insertOne({_id: 1, a: 1, b: {c: 2, d: 3}, t: [1, 2, 3]});
assert.eq(db.c.findOne({}, {a: 1}), {_id: 1, a: 1});
assert.eq(db.c.findOne({}, {a: 1, _id: 0}), {a: 1});
assert.eq(db.c.findOne({}, {b: 0, t: 0}), {_id: 1, a: 1});
assert.eq(db.c.findOne({}, {'b.c': 1}), {_id: 1, b: {c: 2}});
assert.eq(db.c.findOne({}, {t: {$slice: -1}, a: 1}).t, [3]);
assert.eq(db.c.findOne({}, {x: {$add: ['$a', 1]}}), {_id: 1, x: 2});
assert.throws(() => db.c.findOne({}, {a: 1, b: 0}));

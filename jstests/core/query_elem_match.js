// SPDX-License-Identifier: Apache-2.0
// $elemMatch wants one element that fits all.
db.c.insertMany([{_id: 1, t: [{a: 1, b: 9}, {a: 5, b: 2}]}, {_id: 2, t: [{a: 5, b: 9}]}, {_id: 3, n: [1, 8, 20]}]);
const ids = (filter) => db.c.find(filter).sort({_id: 1}).toArray().map((row) => row._id);
assert.eq(ids({'t.a': 5, 't.b': 9}), [1, 2]);
assert.eq(ids({t: {$elemMatch: {a: 5, b: 9}}}), [2]);
assert.eq(ids({n: {$elemMatch: {$gt: 5, $lt: 10}}}), [3]);
assert.eq(ids({n: {$elemMatch: {$gt: 8, $lt: 10}}}), []);

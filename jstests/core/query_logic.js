// SPDX-License-Identifier: Apache-2.0
// $and, $or, $nor and $not.
load('jstests/libs/fruit.js');
assert.eq(ids({$or: [{n: 1}, {s: "cherry"}]}), [1, 3]);
assert.eq(ids({$nor: [{n: 1}, {n: 5}]}), [3, 4]);
assert.eq(ids({n: {$not: {$gt: 1}}}), [1, 4]);
assert.eq(ids({$and: [{n: {$gt: 0}}, {n: {$lt: 6}}]}), [1, 2]);

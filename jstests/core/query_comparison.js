// SPDX-License-Identifier: Apache-2.0
// Comparisons match within a type.
load('jstests/libs/fruit.js');
assert.eq(ids({n: 5}), [2]);
assert.eq(ids({n: {$gt: 1}}), [2, 3]);
assert.eq(ids({n: {$gte: 1, $lt: 10}}), [1, 2]);
assert.eq(ids({n: {$ne: 5}}), [1, 3, 4]);
assert.eq(ids({n: {$gt: "a"}}), []);

// SPDX-License-Identifier: Apache-2.0
// $in and $nin.
load('jstests/libs/fruit.js');
assert.eq(ids({n: {$in: [1, 10]}}), [1, 3]);
assert.eq(ids({n: {$nin: [1, 10]}}), [2, 4]);
assert.eq(ids({s: {$in: [/^a/, "cherry"]}}), [1, 3]);
assert.eq(ids({n: {$in: []}}), []);

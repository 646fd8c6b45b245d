// SPDX-License-Identifier: Apache-2.0
// $mod and $expr.
load('jstests/libs/fruit.js');
assert.eq(ids({n: {$mod: [5, 0]}}), [2, 3]);
assert.eq(ids({$expr: {$gt: ["$n", "$o.a"]}}), [2, 3]);

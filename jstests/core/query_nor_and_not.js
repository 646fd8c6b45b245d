// SPDX-License-Identifier: Apache-2.0
// $nor wants none, $not turns one condition round and also finds what has no such field.
load('jstests/libs/fruit.js');
assert.eq(ids({$nor: [{n: 1}, {s: /^c/}]}), [2, 4]);
assert.eq(ids({n: {$not: {$gt: 1}}}), [1, 4]);
assert.eq(ids({$and: [{n: {$gte: 1}}, {$or: [{'o.b': 1}, {t: 'x'}]}]}), [1, 3]);

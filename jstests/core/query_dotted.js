// SPDX-License-Identifier: Apache-2.0
// Paths into objects.
load('jstests/libs/fruit.js');
assert.eq(ids({"o.a": 2}), [2]);
assert.eq(ids({o: {a: 1}}), [1]);
assert.eq(ids({o: {a: 3, b: 1}}), [3]);
assert.eq(ids({o: {b: 1, a: 3}}), []);
assert.eq(ids({"o.b": {$exists: true}}), [3]);

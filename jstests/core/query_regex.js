// SPDX-License-Identifier: Apache-2.0
// Regular expressions.
load('jstests/libs/fruit.js');
assert.eq(ids({s: /an/}), [2]);
assert.eq(ids({s: /^A/i}), [1]);
assert.eq(ids({s: {$regex: "e$|Y$", $options: "i"}}), [1, 3]);
assert.eq(ids({s: {$not: /a/}}), [3, 4]);

// SPDX-License-Identifier: Apache-2.0
// $all, $size and $elemMatch.
load('jstests/libs/fruit.js');
assert.eq(ids({t: "y"}), [1, 2]);
assert.eq(ids({t: {$all: ["x", "y"]}}), [1]);
assert.eq(ids({t: {$size: 0}}), [3]);
assert.eq(ids({t: {$elemMatch: {$eq: "x"}}}), [1]);
assert.eq(ids({t: ["y"]}), [2]);
assert.eq(ids({"t.0": "y"}), [2]);

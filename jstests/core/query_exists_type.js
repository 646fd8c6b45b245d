// SPDX-License-Identifier: Apache-2.0
// $exists and $type.
load('jstests/libs/fruit.js');
assert.eq(ids({n: {$exists: false}}), [4]);
assert.eq(ids({s: {$type: "string"}}), [1, 2, 3]);
assert.eq(ids({s: {$type: "null"}}), [4]);
assert.eq(ids({t: {$type: "array"}}), [1, 2, 3]);
assert.eq(ids({n: null}), [4]);

// SPDX-License-Identifier: Apache-2.0
// Comparisons give true or false, $cmp tells which is greater, across types too.
load('jstests/libs/computed.js');
assert.eq(computed({$cmp: [1, 2]}), -1);
assert.eq(computed({$cmp: ['a', 1]}), 1);
assert.eq(computed({$eq: [1, NumberLong(1)]}), true);
assert.eq(computed({$lt: [null, 0]}), true);
assert.eq(computed({$gte: [[1, 2], [1]]}), true);
assert.eq(computed({$ne: ['$a', '$b']}, {a: 1, b: 1}), false);

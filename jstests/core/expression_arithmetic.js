// SPDX-License-Identifier: Apache-2.0
// Sums, products, remainders and their like.
load('jstests/libs/computed.js');
assert.eq(computed({$add: [1, 2, 3.5]}), 6.5);
assert.eq(computed({$subtract: [5, 7]}), -2);
assert.eq(computed({$multiply: [2, 3, 4]}), 24);
assert.eq(computed({$divide: [7, 2]}), 3.5);
assert.eq(computed({$mod: [-7, 3]}), -1);
assert.eq(computed({$abs: -4}), 4);
assert.eq(computed({$add: ['$missing', 1]}), null);

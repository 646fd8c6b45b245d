// SPDX-License-Identifier: Apache-2.0
// A sum that does not fit into 32 bits becomes a 64-bit integer, then a double.
load('jstests/libs/computed.js');
assert.eq(computed({$type: {$add: [1, 1]}}), 'int');
assert.eq(computed({$type: {$add: [NumberInt(2147483647), NumberInt(1)]}}), 'long');
assert.eq(computed({$add: [NumberInt(2147483647), NumberInt(1)]}), 2147483648);
assert.eq(computed({$type: {$multiply: [NumberLong('9223372036854775807'), NumberInt(2)]}}), 'double');
assert.eq(computed({$type: {$add: [1, NumberDecimal('1')]}}), 'decimal');

// SPDX-License-Identifier: Apache-2.0
// Decimals add up as people do it by hand.
load('jstests/libs/computed.js');
assert.eq(computed({$add: [NumberDecimal('0.1'), NumberDecimal('0.2')]}), NumberDecimal('0.3'));
assert.neq(computed({$add: [0.1, 0.2]}), 0.3);
assert.eq(computed({$multiply: [NumberDecimal('19.99'), 3]}), NumberDecimal('59.97'));

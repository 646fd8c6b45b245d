// SPDX-License-Identifier: Apache-2.0
// A long has the comparisons, bits, short names and constants that the drivers' class has.
const five = NumberLong(5);
assert.eq([five.gt(4), five.gte(5), five.lt(5), five.lte(5), five.comp(6), five.eq('5'), five.ne(5), five.neq(4)], [true, true, false, true, -1, true, false, true]);
assert.eq([five.isOdd(), five.isEven(), five.isZero(), five.isNegative(), five.isPositive(), Long.ZERO.eqz()], [true, false, false, false, true, true]);
assert.eq([five.neg(), five.shl(60), five.neg().shr(1), five.neg().shru(1), five.shiftLeft(65), five.rem(3)].map(String),
          ['-5', '5764607523034234880', '-3', '9223372036854775805', '10', '2']);
const wide = Long.fromBits(-2, -1);
assert.eq([wide.getHighBits(), wide.getHighBitsUnsigned(), wide.getLowBits(), wide.getLowBitsUnsigned()], [-1, 4294967295, -2, 4294967294]);
assert.eq([Long.NEG_ONE, Long.ZERO, Long.UZERO, Long.ONE, Long.UONE].map(Number), [-1, 0, 0, 1, 1]);
assert.eq([Long.MAX_VALUE, Long.MIN_VALUE].map(String), ['9223372036854775807', '-9223372036854775808']);
assert.eq([Long.fromString('7fffffffffffffff', 16), Long.fromString('-101', false, 2), Long.fromValue('7')].map(String), ['9223372036854775807', '-5', '7']);

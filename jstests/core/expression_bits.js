// SPDX-License-Identifier: Apache-2.0
// $bitAnd, $bitOr, $bitXor and $bitNot on whole numbers.
load('jstests/libs/computed.js');
assert.eq(computed([{$bitAnd: [12, 10]}, {$bitOr: [12, 10]}, {$bitXor: [12, 10]}, {$bitNot: 0}]), [8, 14, 6, -1]);
assert.throws(() => computed({$bitAnd: [1.5, 1]}));

// SPDX-License-Identifier: Apache-2.0
// $type names a type, $convert changes it.
load('jstests/libs/computed.js');
assert.eq(computed({$type: '$missing'}), 'missing');
assert.eq([1.5, 'a', true, null, [1]].map((value) => computed({$type: {$literal: value}})), ['double', 'string', 'bool', 'null', 'array']);
assert.eq(computed({$toInt: '42'}), 42);
assert.eq(computed({$toString: ISODate('2024-02-29T12:00:00Z')}), '2024-02-29T12:00:00.000Z');
assert.eq(computed({$toDate: '2024-02-29'}), ISODate('2024-02-29T00:00:00Z'));
assert.eq(computed({$toObjectId: '65e0a1b2c3d4e5f601234567'}), ObjectId('65e0a1b2c3d4e5f601234567'));
assert.eq(computed({$toBool: 'false'}), true);
assert.eq(computed({$isNumber: NumberDecimal('1')}), true);

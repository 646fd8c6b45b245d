// SPDX-License-Identifier: Apache-2.0
// Places in a text, by bytes and by code points.
load('jstests/libs/computed.js');
assert.eq(computed({$strLenCP: 'größe'}), 5);
assert.eq(computed({$strLenBytes: 'größe'}), 7);
assert.eq(computed({$indexOfCP: ['größe', 'e']}), 4);
assert.eq(computed({$indexOfBytes: ['größe', 'e']}), 6);
assert.eq(computed({$indexOfCP: ['abc', 'x']}), -1);
assert.eq(computed({$substrCP: ['größe', 2, 2]}), 'öß');
assert.throws(() => computed({$substrBytes: ['größe', 3, 2]}));

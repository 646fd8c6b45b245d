// SPDX-License-Identifier: Apache-2.0
// $toUpper and $toLower change ASCII letters; $strcasecmp does not mind them.
load('jstests/libs/computed.js');
assert.eq(computed({$toUpper: 'abc9'}), 'ABC9');
assert.eq(computed({$toLower: 'ABC9'}), 'abc9');
assert.eq(computed({$toUpper: '$missing'}), '');
assert.eq(computed({$strcasecmp: ['Freshet', 'fRESHET']}), 0);
assert.eq(computed({$strcasecmp: ['a', 'B']}), -1);

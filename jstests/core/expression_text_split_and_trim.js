// SPDX-License-Identifier: Apache-2.0
// $split, $trim, $ltrim, $rtrim.
load('jstests/libs/computed.js');
assert.eq(computed({$split: ['a-b--c', '-']}), ['a', 'b', '', 'c']);
assert.eq(computed({$trim: {input: '  x y '}}), 'x y');
assert.eq(computed({$ltrim: {input: '00120', chars: '0'}}), '120');
assert.eq(computed({$rtrim: {input: '1.500', chars: '0'}}), '1.5');

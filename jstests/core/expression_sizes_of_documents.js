// SPDX-License-Identifier: Apache-2.0
// $bsonSize and $binarySize count bytes.
load('jstests/libs/computed.js');
assert.eq(computed({$bsonSize: '$a'}, {a: {}}), 5);
assert.eq(computed({$bsonSize: '$a'}, {a: {x: 'ab'}}), 15);
assert.eq(computed({$binarySize: 'größe'}), 7);

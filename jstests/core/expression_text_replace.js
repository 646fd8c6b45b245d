// SPDX-License-Identifier: Apache-2.0
// $replaceOne takes the first, $replaceAll every one.
load('jstests/libs/computed.js');
assert.eq(computed({$replaceOne: {input: 'aXbX', find: 'X', replacement: '.'}}), 'a.bX');
assert.eq(computed({$replaceAll: {input: 'aXbX', find: 'X', replacement: '.'}}), 'a.b.');
assert.eq(computed({$replaceAll: {input: null, find: 'X', replacement: '.'}}), null);

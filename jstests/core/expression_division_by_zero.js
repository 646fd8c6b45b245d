// SPDX-License-Identifier: Apache-2.0
// Dividing by zero is an error that says so.
load('jstests/libs/computed.js');
const error = assert.throws(() => computed({$divide: [1, 0]}));
assert.includes(error.message, 'divide by zero');
assert.throws(() => computed({$mod: [1, 0]}));
assert.eq(computed({$divide: [null, 0]}), null);

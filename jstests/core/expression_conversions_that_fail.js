// SPDX-License-Identifier: Apache-2.0
// A conversion that cannot be is error 241, unless it says what then.
load('jstests/libs/computed.js');
const error = assert.throwsWithCode(() => computed({$toInt: 'forty-two'}), 241);
assert.eq(error.codeName, 'ConversionFailure');
assert.throwsWithCode(() => computed({$toInt: 3e9}), 241);
assert.eq(computed({$convert: {input: 'x', to: 'int', onError: -1}}), -1);
assert.eq(computed({$convert: {input: null, to: 'int', onNull: 0}}), 0);

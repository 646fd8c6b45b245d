// SPDX-License-Identifier: Apache-2.0
// What $literal holds is a value, dollars or not.
load('jstests/libs/computed.js');
assert.eq(computed({$literal: '$a'}, {a: 1}), '$a');
assert.eq(computed({$eq: ['$price', {$literal: '$1'}]}, {price: '$1'}), true);

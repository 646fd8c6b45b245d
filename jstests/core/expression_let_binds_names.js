// SPDX-License-Identifier: Apache-2.0
// $let gives names to values for one expression.
load('jstests/libs/computed.js');
assert.eq(computed({$let: {vars: {total: {$add: ['$a', '$b']}, half: 0.5}, in: {$multiply: ['$$total', '$$half']}}}, {a: 3, b: 5}), 4);
assert.throwsWithCode(() => computed('$$nothing'), 17276);

// SPDX-License-Identifier: Apache-2.0
// Zero, null and what is missing are false; empty texts and lists are true.
load('jstests/libs/computed.js');
assert.eq([0, null, '$missing', false].map((value) => computed({$not: [value]})), [true, true, true, true]);
assert.eq(['', [], 5].map((value) => computed({$and: [{$literal: value}]})), [true, true, true]);
assert.eq(computed({$and: []}), true);
assert.eq(computed({$or: []}), false);

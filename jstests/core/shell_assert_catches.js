// SPDX-License-Identifier: Apache-2.0
// assert.* throws when it should.
assert.throws(() => assert(false));
assert.throws(() => assert.eq(1, 2));
assert.throws(() => assert.eq({a: 1, b: 2}, {b: 2, a: 1}));
assert.docEq({a: 1, b: 2}, {b: 2, a: 1});
assert.throws(() => assert.lt(2, 1));
assert.throws(() => assert.throws(() => 1));
assert.throws(() => assert.commandWorked({ok: 0, errmsg: 'no'}));
assert.throws(() => assert.commandFailed({ok: 1}));
assert.throws(() => assert.contains(3, [1, 2]));
assert.throws(() => assert.soon(() => false, 'never', 30, 5));
assert.sameMembers([1, {a: 1}], [{a: 1}, 1]);
assert.between(1, 2, 3);
const error = assert.throws(() => assert.eq(1, 2, 'the message'));
assert(error.message.includes('the message'));

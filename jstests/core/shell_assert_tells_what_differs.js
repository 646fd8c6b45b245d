// SPDX-License-Identifier: Apache-2.0
// A failed assertion shows both values and the message.
for (const [action, words] of [[() => assert.eq({a: 1}, {a: 2}, 'why'), ['{ "a" : 1 }', '{ "a" : 2 }', 'why']],
                               [() => assert.lt(2, 1), ['2', '1', '<']], [() => assert.contains(5, [1]), ['5']],
                               [() => assert.commandWorked({ok: 0, errmsg: 'told'}), ['told']], [() => assert.throws(() => 1), ['did not throw']]]) {
    const error = assert.throws(action);
    words.forEach((word) => assert.includes(error.message, word));
}

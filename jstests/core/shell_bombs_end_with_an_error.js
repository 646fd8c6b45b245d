// SPDX-License-Identifier: Apache-2.0
// Deep recursion and huge texts are errors that a script can catch.
assert.throws(() => (function f() { f(); })());
assert.throws(() => { let text = 'x'; for (;;) { text += text; } });
const loop = {};
loop.loop = loop;
assert.throws(() => db.c.insertOne(loop));
assert.eq(db.runCommand({ping: 1}).ok, 1);

// SPDX-License-Identifier: Apache-2.0
// collMod changes how long documents live.
db.c.createIndex({at: 1}, {expireAfterSeconds: 3600});
const reply = db.runCommand({collMod: 'c', index: {name: 'at_1', expireAfterSeconds: 60}});
assert.eq([Number(reply.expireAfterSeconds_old), Number(reply.expireAfterSeconds_new)], [3600, 60]);
assert.eq(Number(db.c.getIndexes()[1].expireAfterSeconds), 60);
assert.throws(() => db.d.createIndex({a: 1, b: 1}, {expireAfterSeconds: 5}));

// SPDX-License-Identifier: Apache-2.0
// More than a message may hold is refused, and the connection goes on.
load('jstests/libs/connections.js');
assert.throws(() => db.runCommand({insert: 'c', documents: [1, 2, 3, 4].map((_id) => ({_id, s: bytesOf(15900000)}))}));
assert.eq(db.runCommand({ping: 1}).ok, 1);
assert.eq(db.c.countDocuments({}), 0);

// SPDX-License-Identifier: Apache-2.0
// A document may have 16 MiB, and not a byte more; it comes back whole.
load('jstests/libs/connections.js');
const room = 16 * 1024 * 1024 - 5 - 9 - 8;  // without the document's own bytes, _id, and the head and end of the text
db.c.insertOne({_id: 1, s: bytesOf(room)});
assert.eq(db.c.findOne().s.length, room);
assert.throwsWithCode(() => db.c.insertOne({_id: 2, s: bytesOf(room + 1)}), [2, 10334]);
assert.eq(db.c.countDocuments({}), 1);

// SPDX-License-Identifier: Apache-2.0
// A result larger than a reply may be comes in several.
load('jstests/libs/connections.js');
for (let _id = 0; _id < 8; ++_id) {
    db.c.insertOne({_id, s: bytesOf(3000000)});
}
const {cursor} = db.runCommand({find: 'c', batchSize: 8});
assert.between(1, cursor.firstBatch.length, 5);
assert.neq(Number(cursor.id), 0);
db.runCommand({killCursors: 'c', cursors: [cursor.id]});
assert.eq(db.c.find().sort({_id: 1}).map(({_id, s}) => [_id, s.length]).toArray(), Array.from({length: 8}, (_, _id) => [_id, 3000000]));

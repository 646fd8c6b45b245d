// SPDX-License-Identifier: Apache-2.0
// A session that has ended takes its cursors with it.
const open = () => Number(db.serverStatus().metrics.cursor.open.total);
db.c.insertMany(Array.from({length: 50}, (_, _id) => ({_id})));
const before = open();
const session = db.getMongo().startSession();
for (let each = 0; each < 5; ++each) {
    session.getDatabase(db.getName()).c.find().batchSize(2).next();
}
assert.eq(open(), before + 5);
assert(!session.hasEnded());
session.endSession();
assert(session.hasEnded());
assert.eq(open(), before);
assert.throws(() => session.commitTransaction());

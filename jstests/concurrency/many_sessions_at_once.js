// SPDX-License-Identifier: Apache-2.0
// Sessions and cursors of several shells do not mix.
load('jstests/libs/beside.js');
db.c.insertMany(Array.from({length: 300}, (_, _id) => ({_id})));
beside(3, (number) => {
    const cursors = Array.from({length: 10}, (_, at) => db.getMongo().startSession().getDatabase(db.getName()).c
        .find({_id: {$mod: [10, at]}}).sort({_id: 1}).batchSize(7));
    for (let row = 0; row < 30; ++row) {
        cursors.forEach((cursor, at) => assert.eq(cursor.next()._id, row * 10 + at));
    }
    cursors.forEach((cursor) => assert(!cursor.hasNext()));
});

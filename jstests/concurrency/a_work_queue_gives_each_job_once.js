// SPDX-License-Identifier: Apache-2.0
// findAndModify hands out every job of a queue once, whoever asks.
load('jstests/libs/beside.js');
db.jobs.insertMany(Array.from({length: 300}, (_, _id) => ({_id, state: 'new'})));
db.jobs.createIndex({state: 1, _id: 1});
beside(4, (number) => {
    for (;;) {
        const job = db.jobs.findAndModify({query: {state: 'new'}, sort: {_id: 1}, update: {$set: {state: 'taken', by: number}}});
        if (job === null) {
            break;
        }
        db.done.insertOne({job: job._id, by: number});
    }
});
assert.eq(db.done.countDocuments({}), 300);
assert.eq(db.done.distinct('job').length, 300);
assert.eq(db.jobs.countDocuments({state: 'new'}), 0);

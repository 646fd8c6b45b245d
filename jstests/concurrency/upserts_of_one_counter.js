// SPDX-License-Identifier: Apache-2.0
// Upserts of the same _id from several shells make one document and count every time.
load('jstests/libs/beside.js');
beside(4, () => {
    for (let turn = 0; turn < 100; ++turn) {
        db.c.updateOne({_id: turn % 10}, {$inc: {n: 1}}, {upsert: true});
    }
});
assert.eq(db.c.find().sort({_id: 1}).toArray(), Array.from({length: 10}, (_, _id) => ({_id, n: 40})));

// SPDX-License-Identifier: Apache-2.0
// $push and $addToSet from several shells: nothing is lost, nothing doubled.
load('jstests/libs/beside.js');
db.c.insertOne({_id: 1, all: [], set: []});
beside(3, (number) => {
    for (let turn = 0; turn < 80; ++turn) {
        db.c.updateOne({_id: 1}, {$push: {all: number * 1000 + turn}, $addToSet: {set: turn % 10}});
    }
});
const {all, set} = db.c.findOne();
assert.eq([all.length, new Set(all).size, set.length], [240, 240, 10]);

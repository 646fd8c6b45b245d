// SPDX-License-Identifier: Apache-2.0
// $inc from several shells at once adds up.
load('jstests/libs/beside.js');
db.c.insertOne({_id: 'hits', n: 0});
beside(4, () => {
    for (let turn = 0; turn < 250; ++turn) {
        db.c.updateOne({_id: 'hits'}, {$inc: {n: 1}});
    }
});
assert.eq(db.c.findOne().n, 1000);

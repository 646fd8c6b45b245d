// SPDX-License-Identifier: Apache-2.0
// updateMany changes what was there when it began; nothing is changed twice.
load('jstests/libs/beside.js');
db.c.insertMany(Array.from({length: 1000}, (_, _id) => ({_id, n: 0})));
db.c.createIndex({n: 1});
beside(3, (number) => {
    if (number === 0) {
        for (let turn = 0; turn < 200; ++turn) {
            db.c.insertOne({n: -1});
        }
        return;
    }
    db.c.updateMany({n: {$gte: 0}}, {$inc: {n: 1}});
});
assert.eq(db.c.countDocuments({n: 2}), 1000);
assert.eq(db.c.countDocuments({n: -1}), 200);

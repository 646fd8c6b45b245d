// SPDX-License-Identifier: Apache-2.0
// Documents that trade keys of a unique index: at no time do two hold one.
load('jstests/libs/beside.js');
db.c.createIndex({k: 1}, {unique: true});
db.c.insertMany(Array.from({length: 6}, (_, _id) => ({_id, k: _id})));
beside(3, (number) => {
    Random.setRandomSeed(number + 1);
    for (let turn = 0; turn < 200; ++turn) {
        try {
            db.c.updateOne({_id: Random.randInt(6)}, {$set: {k: Random.randInt(9)}});
        } catch (error) {
            assert.eq(error.code, 11000);
        }
        if (turn % 20 === 0) {
            const keys = db.c.find({}, {_id: 0, k: 1}).hint({k: 1}).map((row) => row.k).toArray();
            assert.lte(keys.length, 9);
        }
    }
});
const keys = db.c.find().map((row) => row.k).toArray();
assert.eq(new Set(keys).size, 6);
assert.eq(db.c.validate().valid, true);

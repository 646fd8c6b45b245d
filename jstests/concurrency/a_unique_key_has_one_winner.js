// SPDX-License-Identifier: Apache-2.0
// Of several shells that insert the same keys, each key has one winner; the others are told 11000.
load('jstests/libs/beside.js');
db.c.createIndex({k: 1}, {unique: true});
beside(4, (number) => {
    let won = 0;
    for (let k = 0; k < 100; ++k) {
        try {
            db.c.insertOne({k, number});
            ++won;
        } catch (error) {
            assert.eq(error.code, 11000);
        }
    }
    db.won.insertOne({_id: number, won});
});
assert.eq(db.c.countDocuments({}), 100);
assert.eq(db.won.aggregate([{$group: {_id: null, sum: {$sum: '$won'}}}]).next().sum, 100);
for (const {_id, won} of db.won.find()) {
    assert.eq(db.c.countDocuments({number: _id}), won);
}

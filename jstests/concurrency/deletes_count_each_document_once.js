// SPDX-License-Identifier: Apache-2.0
// deleteMany of the same documents from several shells: the counts add up.
load('jstests/libs/beside.js');
db.c.insertMany(Array.from({length: 1000}, (_, _id) => ({_id})));
beside(3, (number) => {
    db.gone.insertOne({_id: number, n: db.c.deleteMany({}).deletedCount});
});
assert.eq(db.c.countDocuments({}), 0);
assert.eq(db.gone.aggregate([{$group: {_id: null, sum: {$sum: '$n'}}}]).next().sum, 1000);

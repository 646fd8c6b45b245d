// SPDX-License-Identifier: Apache-2.0
// Amounts that move between accounts by pipeline updates of one document keep their sum.
load('jstests/libs/beside.js');
db.c.insertOne({_id: 1, a: 1000, b: 1000});
beside(4, (number) => {
    for (let turn = 0; turn < 100; ++turn) {
        db.c.updateOne({_id: 1}, [{$set: {a: {$subtract: ['$a', number + 1]}, b: {$add: ['$b', number + 1]}}}]);
    }
});
assert.eq(db.c.findOne(), {_id: 1, a: 0, b: 2000});

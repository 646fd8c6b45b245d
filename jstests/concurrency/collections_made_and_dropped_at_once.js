// SPDX-License-Identifier: Apache-2.0
// Making, filling and dropping one collection from several shells: commands work or say why not, and the server goes on.
load('jstests/libs/beside.js');
beside(4, (number) => {
    for (let turn = 0; turn < 60; ++turn) {
        switch ((turn + number) % 4) {
            case 0:
                db.c.drop();
                break;
            case 1:
                assert.commandWorkedOrFailedWithCode(db.tryCommand({create: 'c'}), 48);
                break;
            case 2:
                db.c.insertOne({number, turn});
                break;
            default:
                assert.commandWorkedOrFailedWithCode(db.tryCommand({createIndexes: 'c', indexes: [{key: {turn: 1}, name: 't'}]}), [26, 276, 112]);
        }
    }
});
db.c.insertOne({last: true});
assert.eq(db.c.countDocuments({last: true}), 1);
assert.eq(db.c.validate().valid, true);

// SPDX-License-Identifier: Apache-2.0
// Of several shells that make one collection with different options, one wins.
load('jstests/libs/beside.js');
beside(4, (number) => {
    for (let turn = 0; turn < 20; ++turn) {
        const reply = db.tryCommand({create: 'c' + turn, validator: {number}});
        assert.commandWorkedOrFailedWithCode(reply, 48);
        db.made.insertOne({turn, number, ok: reply.ok});
    }
});
for (let turn = 0; turn < 20; ++turn) {
    const winners = db.made.find({turn, ok: 1}).map((row) => row.number).toArray();
    assert.eq(winners.length, 1, 'of c' + turn);
    assert.eq(db.getCollectionInfos({name: 'c' + turn})[0].options.validator, {number: winners[0]});
}

// SPDX-License-Identifier: Apache-2.0
// Small requests of one client go on while another sends and reads large ones.
load('jstests/libs/beside.js');
beside(2, (number) => {
    if (number === 0) {
        for (let turn = 0; turn < 2; ++turn) {
            db.big.insertMany([{s: 'x'.repeat(15000000)}, {s: 'y'.repeat(15000000)}]);
            assert.eq(db.big.find().map((row) => row.s.length).toArray().length, 2 * turn + 2);
        }
        db.over.insertOne({});
        return;
    }
    let count = 0;
    do {
        assert.eq(db.runCommand({ping: 1}).ok, 1);
        ++count;
    } while (db.over.findOne() === null);
    assert.gte(count, 10);
});

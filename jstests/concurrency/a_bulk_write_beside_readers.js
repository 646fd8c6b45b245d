// SPDX-License-Identifier: Apache-2.0
// Readers beside a bulk insert see documents that are whole and never lose one again.
load('jstests/libs/beside.js');
db.createCollection('c');
beside(3, (number) => {
    if (number === 0) {
        for (let part = 0; part < 20; ++part) {
            db.c.insertMany(Array.from({length: 100}, (_, at) => ({_id: part * 100 + at, a: part, b: part})));
        }
        return;
    }
    let before = 0;
    do {
        const rows = db.c.find().toArray();
        assert.gte(rows.length, before);
        assert(rows.every(({_id, a, b}) => a === b && a === Math.floor(_id / 100)));
        before = rows.length;
    } while (before < 2000);
});

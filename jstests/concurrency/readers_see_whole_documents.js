// SPDX-License-Identifier: Apache-2.0
// Beside a writer that replaces documents, readers never see a half of one.
load('jstests/libs/beside.js');
const make = (version) => ({version, parts: Array.from({length: 50}, () => version)});
db.c.insertMany(Array.from({length: 20}, (_, _id) => ({_id, ...make(0)})));
beside(3, (number) => {
    const make = (version) => ({version, parts: Array.from({length: 50}, () => version)});
    if (number === 0) {
        for (let turn = 1; turn <= 300; ++turn) {
            db.c.replaceOne({_id: turn % 20}, make(turn));
        }
        db.over.insertOne({});
        return;
    }
    let read = 0;
    do {
        for (const {version, parts} of db.c.find()) {
            assert(parts.length === 50 && parts.every((part) => part === version), 'a document in halves');
            ++read;
        }
    } while (db.over.findOne() === null);
    assert.gte(read, 20);
});

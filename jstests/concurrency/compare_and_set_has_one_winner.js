// SPDX-License-Identifier: Apache-2.0
// A write whose filter names the version it read: of all that read the same version, one succeeds.
load('jstests/libs/beside.js');
db.c.insertOne({_id: 1, version: 0, log: []});
beside(4, (number) => {
    let won = 0;
    while (won < 25) {
        const {version} = db.c.findOne({_id: 1});
        won += db.c.updateOne({_id: 1, version}, {$inc: {version: 1}, $push: {log: version}}).modifiedCount;
    }
});
const {version, log} = db.c.findOne();
assert.eq(version, 100);
assert.eq(log, Array.from({length: 100}, (_, at) => at));

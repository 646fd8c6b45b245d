// SPDX-License-Identifier: Apache-2.0
// findOneAndDelete from several shells gives every document to one of them.
load('jstests/libs/beside.js');
db.c.insertMany(Array.from({length: 200}, (_, _id) => ({_id})));
beside(3, (number) => {
    const mine = [];
    for (let taken = db.c.findOneAndDelete({}); taken !== null; taken = db.c.findOneAndDelete({})) {
        mine.push(taken._id);
    }
    db.taken.insertOne({_id: number, mine});
});
const all = db.taken.find().toArray().flatMap((row) => row.mine);
assert.eq(all.length, 200);
assert.eq(new Set(all).size, 200);

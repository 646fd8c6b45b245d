// SPDX-License-Identifier: Apache-2.0
// A scan of _id between updates that make the documents larger gives each document once by _id.
db.c.insertMany(Array.from({length: 400}, (_, _id) => ({_id, n: _id})));
const cursor = db.c.find().sort({_id: 1}).batchSize(50);
const seen = [];
while (cursor.hasNext()) {
    seen.push(cursor.next()._id);
    if (seen.length % 50 === 0) {
        db.c.updateMany({}, {$inc: {n: 1000}, $set: {pad: 'x'.repeat(seen.length)}});
    }
}
assert.eq(seen, Array.from({length: 400}, (_, _id) => _id));

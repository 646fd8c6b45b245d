// SPDX-License-Identifier: Apache-2.0
// A cursor fetches batch after batch.
db.c.insertMany(Array.from({length: 500}, (_, _id) => ({_id})));
const cursor = db.c.find().sort({_id: 1}).batchSize(7);
assert.eq(cursor.objsLeftInBatch(), 7);
assert.eq(cursor.itcount(), 500);
assert(cursor.isExhausted());
assert.eq([...db.c.find().batchSize(100)].length, 500);

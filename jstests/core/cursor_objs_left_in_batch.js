// SPDX-License-Identifier: Apache-2.0
// What is left of a batch, and when a cursor is at its end.
db.c.insertMany(Array.from({length: 5}, (_, _id) => ({_id})));
const cursor = db.c.find().batchSize(3);
cursor.next();
assert.eq([cursor.objsLeftInBatch(), cursor.isExhausted(), cursor.isClosed()], [2, false, false]);
cursor.toArray();
assert.eq([cursor.objsLeftInBatch(), cursor.isExhausted()], [0, true]);

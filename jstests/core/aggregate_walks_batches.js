// SPDX-License-Identifier: Apache-2.0
// An aggregation's cursor gives batch after batch.
db.c.insertMany(Array.from({length: 250}, (_, _id) => ({_id})));
const cursor = db.c.aggregate([{$sort: {_id: 1}}], {cursor: {batchSize: 100}});
assert.eq(cursor.objsLeftInBatch(), 100);
assert.eq(cursor.toArray().map((row) => row._id), Array.from({length: 250}, (_, _id) => _id));

// SPDX-License-Identifier: Apache-2.0
// $sample draws so many, each once.
db.c.insertMany(Array.from({length: 50}, (_, _id) => ({_id})));
const drawn = db.c.aggregate([{$sample: {size: 10}}]).toArray().map((row) => row._id);
assert.eq(new Set(drawn).size, 10);
assert.eq(db.c.aggregate([{$sample: {size: 500}}]).itcount(), 50);
assert.throwsWithCode(() => db.c.aggregate([{$sample: {size: -1}}]), 28747);

// SPDX-License-Identifier: Apache-2.0
// $rand lies between 0 and 1 and differs from row to row; $sampleRate of 0 and 1 is none and all.
db.c.insertMany(Array.from({length: 20}, (_, _id) => ({_id})));
const drawn = db.c.aggregate([{$project: {r: {$rand: {}}}}]).toArray().map((row) => row.r);
assert(drawn.every((r) => r >= 0 && r < 1), drawn);
assert.gt(new Set(drawn).size, 1);
assert.eq([0, 1].map((rate) => db.c.aggregate([{$match: {$sampleRate: rate}}]).itcount()), [0, 20]);

// SPDX-License-Identifier: Apache-2.0
// A pattern that begins with ^ reads a part of the index.
db.c.createIndex({s: 1});
db.c.insertMany(Array.from({length: 200}, (_, n) => ({s: `key${String(n).padStart(3, '0')}`})));
const stats = db.c.find({s: /^key01/}).explain('executionStats').executionStats;
assert.eq(Number(stats.nReturned), 10);
assert.lt(Number(stats.totalKeysExamined), 20);

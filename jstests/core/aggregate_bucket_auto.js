// SPDX-License-Identifier: Apache-2.0
// $bucketAuto makes groups of about the same size.
db.c.insertMany(Array.from({length: 12}, (_, n) => ({_id: n, n})));
const rows = db.c.aggregate([{$bucketAuto: {groupBy: '$n', buckets: 3}}]).toArray();
assert.eq(rows.map((row) => row.count), [4, 4, 4]);
assert.eq(rows.map((row) => [row._id.min, row._id.max]), [[0, 4], [4, 8], [8, 11]]);

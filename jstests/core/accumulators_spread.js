// SPDX-License-Identifier: Apache-2.0
// Standard deviation of all and of a sample.
db.c.insertMany([2, 4, 4, 4, 5, 5, 7, 9].map((n, _id) => ({_id, n})));
const [row] = db.c.aggregate([{$group: {_id: null, all: {$stdDevPop: '$n'}, sample: {$stdDevSamp: '$n'}}}]).toArray();
assert.close(row.all, 2);
assert.close(row.sample, 2.13809);

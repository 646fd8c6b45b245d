// SPDX-License-Identifier: Apache-2.0
// Numbers of different types that are equal make one group.
db.c.insertMany([{k: 1}, {k: NumberLong(1)}, {k: NumberDecimal('1.0')}, {k: '1'}]);
assert.eq(db.c.aggregate([{$group: {_id: '$k', n: {$sum: 1}}}, {$sort: {n: -1}}]).toArray().map((row) => row.n), [3, 1]);

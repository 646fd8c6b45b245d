// SPDX-License-Identifier: Apache-2.0
// $median and $percentile.
db.c.insertMany(Array.from({length: 101}, (_, n) => ({_id: n, n})));
const [row] = db.c.aggregate([{$group: {_id: null, m: {$median: {input: '$n', method: 'approximate'}}, p: {$percentile: {input: '$n', p: [0.1, 0.9], method: 'approximate'}}}}]).toArray();
assert.eq(row.m, 50);
assert.eq(row.p, [10, 90]);

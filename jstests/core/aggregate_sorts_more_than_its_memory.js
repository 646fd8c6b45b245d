// SPDX-License-Identifier: Apache-2.0
// A sort larger than the memory for sorting is done on disk, or refused when that is not allowed.
const kMemory = 'internalQueryMaxBlockingSortMemoryUsageBytes';
const before = db.adminCommand({getParameter: 1, [kMemory]: 1})[kMemory];
db.c.insertMany(Array.from({length: 1200}, (_, at) => ({n: at * 7919 % 1200, pad: 'x'.repeat(3000)})));
const sorted = (options) => db.c.aggregate([{$sort: {n: 1}}, {$project: {n: 1, pad: 1}}], options).map((row) => row.n).toArray();
db.adminCommand({setParameter: 1, [kMemory]: 1000000});
try {
    assert.eq(sorted({allowDiskUse: true}), Array.from({length: 1200}, (_, n) => n));
    assert.throwsWithCode(() => sorted({allowDiskUse: false}), 292);
} finally {
    db.adminCommand({setParameter: 1, [kMemory]: before});
}
assert.eq(sorted({allowDiskUse: false}).length, 1200);

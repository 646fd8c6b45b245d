// SPDX-License-Identifier: Apache-2.0
// maxTimeMS ends a query that takes longer.
db.c.insertMany(Array.from({length: 3000}, (_, _id) => ({_id})));
assert.throwsWithCode(() => db.c.aggregate([{$match: {$expr: {$lt: [{$reduce: {input: {$range: [0, 20000]}, initialValue: 0, in: {$add: ['$$value', '$$this']}}}, 0]}}}],
                                           {maxTimeMS: 20}).toArray(), 50);

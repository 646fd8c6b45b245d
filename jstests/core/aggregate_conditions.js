// SPDX-License-Identifier: Apache-2.0
// $cond, $switch and $ifNull.
db.c.insertMany([
    {_id: 1, k: 'a', n: 1, t: [1, 2]}, {_id: 2, k: 'b', n: 2, t: []},
    {_id: 3, k: 'a', n: 3, t: [3]}, {_id: 4, k: 'c', n: 4},
]);
const run = (...stages) => db.c.aggregate(stages).toArray();
assert.docEq(run(...[{$project: {v: {$cond: [{$gt: ['$n', 2]}, 'high', 'low']}}}]), [{_id: 1, v: 'low'}, {_id: 2, v: 'low'}, {_id: 3, v: 'high'}, {_id: 4, v: 'high'}]);
assert.docEq(run(...[{$match: {_id: 4}}, {$project: {v: {$ifNull: ['$t', 'none']}}}]), [{_id: 4, v: 'none'}]);

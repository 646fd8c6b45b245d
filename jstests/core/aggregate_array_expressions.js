// SPDX-License-Identifier: Apache-2.0
// $map, $filter and $reduce.
db.c.insertMany([
    {_id: 1, k: 'a', n: 1, t: [1, 2]}, {_id: 2, k: 'b', n: 2, t: []},
    {_id: 3, k: 'a', n: 3, t: [3]}, {_id: 4, k: 'c', n: 4},
]);
const run = (...stages) => db.c.aggregate(stages).toArray();
assert.docEq(run(...[{$limit: 1}, {$project: {m: {$map: {input: '$t', in: {$multiply: ['$$this', 10]}}}, f: {$filter: {input: '$t', cond: {$gt: ['$$this', 1]}}}, r: {$reduce: {input: '$t', initialValue: 0, in: {$add: ['$$value', '$$this']}}}}}]), [{_id: 1, m: [10, 20], f: [2], r: 3}]);

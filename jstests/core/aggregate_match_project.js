// SPDX-License-Identifier: Apache-2.0
// $match and $project.
db.c.insertMany([
    {_id: 1, k: 'a', n: 1, t: [1, 2]}, {_id: 2, k: 'b', n: 2, t: []},
    {_id: 3, k: 'a', n: 3, t: [3]}, {_id: 4, k: 'c', n: 4},
]);
const run = (...stages) => db.c.aggregate(stages).toArray();
assert.docEq(run(...[{$match: {n: {$gt: 2}}}, {$project: {n: 1, _id: 0}}]), [{n: 3}, {n: 4}]);
assert.docEq(run(...[{$project: {_id: 1, d: {$multiply: ['$n', 2]}}}, {$limit: 1}]), [{_id: 1, d: 2}]);

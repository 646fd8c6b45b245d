// SPDX-License-Identifier: Apache-2.0
// $sortByCount.
db.c.insertMany([
    {_id: 1, k: 'a', n: 1, t: [1, 2]}, {_id: 2, k: 'b', n: 2, t: []},
    {_id: 3, k: 'a', n: 3, t: [3]}, {_id: 4, k: 'c', n: 4},
]);
const run = (...stages) => db.c.aggregate(stages).toArray();
assert.docEq(run(...[{$sortByCount: '$k'}, {$limit: 1}]), [{_id: 'a', count: 2}]);

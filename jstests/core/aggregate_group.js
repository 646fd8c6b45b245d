// SPDX-License-Identifier: Apache-2.0
// $group with accumulators.
db.c.insertMany([
    {_id: 1, k: 'a', n: 1, t: [1, 2]}, {_id: 2, k: 'b', n: 2, t: []},
    {_id: 3, k: 'a', n: 3, t: [3]}, {_id: 4, k: 'c', n: 4},
]);
const run = (...stages) => db.c.aggregate(stages).toArray();
assert.docEq(run(...[{$group: {_id: '$k', s: {$sum: '$n'}, a: {$avg: '$n'}, m: {$max: '$n'}}}, {$sort: {_id: 1}}]), [{_id: 'a', s: 4, a: 2, m: 3}, {_id: 'b', s: 2, a: 2, m: 2}, {_id: 'c', s: 4, a: 4, m: 4}]);
assert.docEq(run(...[{$group: {_id: null, all: {$push: '$_id'}}}]), [{_id: null, all: [1, 2, 3, 4]}]);

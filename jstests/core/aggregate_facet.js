// SPDX-License-Identifier: Apache-2.0
// $facet runs several pipelines.
db.c.insertMany([
    {_id: 1, k: 'a', n: 1, t: [1, 2]}, {_id: 2, k: 'b', n: 2, t: []},
    {_id: 3, k: 'a', n: 3, t: [3]}, {_id: 4, k: 'c', n: 4},
]);
const run = (...stages) => db.c.aggregate(stages).toArray();
assert.docEq(run(...[{$facet: {all: [{$count: 'n'}], first: [{$limit: 1}, {$project: {_id: 1}}]}}]), [{all: [{n: 4}], first: [{_id: 1}]}]);

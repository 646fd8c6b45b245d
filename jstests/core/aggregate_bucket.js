// SPDX-License-Identifier: Apache-2.0
// $bucket.
db.c.insertMany([
    {_id: 1, k: 'a', n: 1, t: [1, 2]}, {_id: 2, k: 'b', n: 2, t: []},
    {_id: 3, k: 'a', n: 3, t: [3]}, {_id: 4, k: 'c', n: 4},
]);
const run = (...stages) => db.c.aggregate(stages).toArray();
assert.docEq(run(...[{$bucket: {groupBy: '$n', boundaries: [0, 3, 9]}}]), [{_id: 0, count: 2}, {_id: 3, count: 2}]);

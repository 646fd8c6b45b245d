// SPDX-License-Identifier: Apache-2.0
// An index serves its order and the opposite of it.
load('jstests/libs/plans.js');
db.c.createIndex({a: 1, b: 1});
db.c.insertMany([{a: 1, b: 1}, {a: 1, b: 2}, {a: 2, b: 1}]);
for (const [keys, needsSort] of [[{a: -1, b: -1}, false], [{a: 1, b: -1}, true]]) {
    assert.eq(stagesOf(db.c.find().sort(keys).hint({a: 1, b: 1}).explain()).includes('SORT'), needsSort, keys);
}
assert.eq(db.c.find().sort({a: -1, b: -1}).map((row) => [row.a, row.b]).toArray(), [[2, 1], [1, 2], [1, 1]]);

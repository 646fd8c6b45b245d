// SPDX-License-Identifier: Apache-2.0
// A compound index serves its first fields, and sorts by the next.
load('jstests/libs/plans.js');
db.c.createIndex({a: 1, b: -1});
db.c.insertMany(Array.from({length: 60}, (_, n) => ({a: n % 3, b: n % 5, n})));
assert.contains('IXSCAN', stagesOf(db.c.find({a: 1}).explain()));
assert.contains('COLLSCAN', stagesOf(db.c.find({b: 1}).explain()));
const sorted = stagesOf(db.c.find({a: 1}).sort({b: -1}).explain());
assert.contains('IXSCAN', sorted);
assert(!sorted.includes('SORT'), sorted);
assert.eq(db.c.find({a: 1}).sort({b: -1}).limit(4).map((row) => row.b).toArray(), [4, 4, 4, 4]);

// SPDX-License-Identifier: Apache-2.0
// $or uses an index for each of its parts and gives each document once.
load('jstests/libs/plans.js');
db.c.createIndex({a: 1});
db.c.createIndex({b: 1});
db.c.insertMany(Array.from({length: 100}, (_, n) => ({_id: n, a: n, b: n})));
const filter = {$or: [{a: 5}, {b: {$in: [5, 6]}}]};
assert.sameMembers(db.c.find(filter).map((row) => row._id).toArray(), [5, 6]);
assert(!stagesOf(db.c.find(filter).explain()).includes('COLLSCAN'));

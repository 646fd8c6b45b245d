// SPDX-License-Identifier: Apache-2.0
// Later keys decide where earlier ones are equal.
db.c.insertMany([{_id: 1, a: 2, b: 'x'}, {_id: 2, a: 1, b: 'y'}, {_id: 3, a: 2, b: 'a'}]);
assert.eq(db.c.find().sort({a: -1, b: 1}).map((row) => row._id).toArray(), [3, 1, 2]);
assert.throwsWithCode(() => db.c.find().sort({a: 2}).toArray(), 15975);

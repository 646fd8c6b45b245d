// SPDX-License-Identifier: Apache-2.0
// A list sorts by its least element upwards, by its greatest downwards.
db.c.insertMany([{_id: 1, t: [5, 1]}, {_id: 2, t: 3}, {_id: 3, t: [2, 9]}, {_id: 4, t: []}]);
assert.eq(db.c.find().sort({t: 1}).map((row) => row._id).toArray(), [4, 1, 3, 2]);
assert.eq(db.c.find().sort({t: -1}).map((row) => row._id).toArray(), [3, 1, 2, 4]);

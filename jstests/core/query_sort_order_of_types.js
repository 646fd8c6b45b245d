// SPDX-License-Identifier: Apache-2.0
// Sorting puts types one after the other.
const values = [MaxKey(), true, ObjectId(), 'a', 1, null, MinKey(), ISODate('2020-01-01T00:00:00Z'), {x: 1}, /r/, UUID()];
db.c.insertMany(values.map((v, _id) => ({_id, v})));
assert.eq(db.c.find().sort({v: 1}).map((row) => row._id).toArray(), [6, 5, 4, 3, 8, 10, 2, 1, 7, 9, 0]);
assert.eq(db.c.find().sort({v: -1}).map((row) => row._id).toArray(), [0, 9, 7, 1, 2, 10, 8, 3, 4, 5, 6]);

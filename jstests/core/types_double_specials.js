// SPDX-License-Identifier: Apache-2.0
// NaN, infinities and minus zero are stored as they are.
db.c.insertMany([NaN, Infinity, -Infinity, -0].map((v, _id) => ({_id, v: Double(v)})));
const [nan, up, down, zero] = db.c.find().sort({_id: 1}).map((row) => Number(row.v)).toArray();
assert(Number.isNaN(nan) && up === Infinity && down === -Infinity && Object.is(zero, -0));
assert.eq(db.c.countDocuments({v: NaN}), 1);
assert.eq(db.c.find().sort({v: 1}).map((row) => row._id).toArray(), [0, 2, 3, 1]);

// SPDX-License-Identifier: Apache-2.0
// A negative limit gives that many in one batch and leaves no cursor.
db.c.insertMany(Array.from({length: 10}, (_, _id) => ({_id})));
const cursor = db.c.find().limit(-4);
assert.eq(cursor.itcount(), 4);
assert.eq(Number(db.c.find().limit(-4).getId()), 0);

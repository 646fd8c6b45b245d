// SPDX-License-Identifier: Apache-2.0
// A made _id is the first field.
db.c.insertOne({b: 1, a: 2});
assert.eq(Object.keys(db.c.findOne()), ['_id', 'b', 'a']);

// SPDX-License-Identifier: Apache-2.0
// What is undefined in JavaScript is not sent; null is.
db.c.insertOne({_id: 1, a: undefined, b: null});
const names = Object.keys(db.c.findOne());
assert.contains('b', names);
assert.eq(db.c.findOne().a === undefined || db.c.findOne().a === null, true);

// SPDX-License-Identifier: Apache-2.0
// Fields come back in the order in which they were written; updates add at the end.
db.c.insertOne({z: 1, _id: 1, a: 2, m: 3});
assert.eq(Object.keys(db.c.findOne()), ['_id', 'z', 'a', 'm']);
db.c.updateOne({_id: 1}, {$set: {b: 4, a: 5}});
assert.eq(Object.keys(db.c.findOne()), ['_id', 'z', 'a', 'm', 'b']);

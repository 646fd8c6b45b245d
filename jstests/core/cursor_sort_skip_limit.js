// SPDX-License-Identifier: Apache-2.0
// sort(), skip() and limit().
db.c.insertMany([3, 1, 2, 5, 4].map((_id) => ({_id})));
const ids = (cursor) => cursor.toArray().map((document) => document._id);
assert.eq(ids(db.c.find().sort({_id: 1})), [1, 2, 3, 4, 5]);
assert.eq(ids(db.c.find().sort({_id: -1}).skip(1).limit(2)), [4, 3]);
assert.eq(ids(db.c.find().sort({_id: 1}).limit(-2)), [1, 2]);
assert.eq(ids(db.c.find().sort({_id: 1}).skip(9)), []);

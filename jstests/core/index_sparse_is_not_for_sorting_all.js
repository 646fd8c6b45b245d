// SPDX-License-Identifier: Apache-2.0
// A sparse index is not used for a sort that would lose documents.
db.c.createIndex({a: 1}, {sparse: true});
db.c.insertMany([{_id: 1, a: 2}, {_id: 2}, {_id: 3, a: 1}]);
assert.eq(db.c.find().sort({a: 1}).map((row) => row._id).toArray(), [2, 3, 1]);
assert.eq(db.c.find().sort({a: 1}).hint('a_1').map((row) => row._id).toArray(), [3, 1]);

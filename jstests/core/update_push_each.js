// SPDX-License-Identifier: Apache-2.0
// $push with $each, $sort and $slice.
db.c.insertOne({_id: 1, a: [5, 1]});
db.c.updateOne({_id: 1}, {$push: {a: {$each: [4, 2], $sort: 1, $slice: 3}}});
assert.docEq(db.c.findOne(), {_id: 1, a: [1, 2, 4]});

// SPDX-License-Identifier: Apache-2.0
// $push with $position.
db.c.insertOne({_id: 1, a: [1, 4]});
db.c.updateOne({_id: 1}, {$push: {a: {$each: [2, 3], $position: 1}}});
assert.docEq(db.c.findOne(), {_id: 1, a: [1, 2, 3, 4]});

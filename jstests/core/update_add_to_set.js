// SPDX-License-Identifier: Apache-2.0
// $addToSet adds what is not there.
db.c.insertOne({_id: 1, a: [1, 2]});
db.c.updateOne({_id: 1}, {$addToSet: {a: {$each: [2, 3]}}});
assert.docEq(db.c.findOne(), {_id: 1, a: [1, 2, 3]});

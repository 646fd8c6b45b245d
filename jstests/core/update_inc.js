// SPDX-License-Identifier: Apache-2.0
// $inc adds, and makes the field.
db.c.insertOne({_id: 1, a: 1});
db.c.updateOne({_id: 1}, {$inc: {a: 2, b: 5}});
assert.docEq(db.c.findOne(), {_id: 1, a: 3, b: 5});

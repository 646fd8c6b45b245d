// SPDX-License-Identifier: Apache-2.0
// $min and $max keep the smaller and the larger.
db.c.insertOne({_id: 1, a: 5, b: 5});
db.c.updateOne({_id: 1}, {$min: {a: 3, b: 9}});
assert.docEq(db.c.findOne(), {_id: 1, a: 3, b: 5});

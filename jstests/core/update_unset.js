// SPDX-License-Identifier: Apache-2.0
// $unset removes.
db.c.insertOne({_id: 1, a: 5, b: 5});
db.c.updateOne({_id: 1}, {$unset: {a: 1, none: 1}});
assert.docEq(db.c.findOne(), {_id: 1, b: 5});

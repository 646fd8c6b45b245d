// SPDX-License-Identifier: Apache-2.0
// $set with a path makes objects.
db.c.insertOne({_id: 1});
db.c.updateOne({_id: 1}, {$set: {"a.b.c": 1}});
assert.docEq(db.c.findOne(), {_id: 1, a: {b: {c: 1}}});

// SPDX-License-Identifier: Apache-2.0
// $rename moves a value to another name.
db.c.insertOne({_id: 1, a: 5});
db.c.updateOne({_id: 1}, {$rename: {a: "b"}});
assert.docEq(db.c.findOne(), {_id: 1, b: 5});

// SPDX-License-Identifier: Apache-2.0
// $mul multiplies.
db.c.insertOne({_id: 1, a: 3});
db.c.updateOne({_id: 1}, {$mul: {a: 4}});
assert.docEq(db.c.findOne(), {_id: 1, a: 12});

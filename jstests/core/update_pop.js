// SPDX-License-Identifier: Apache-2.0
// $pop removes at an end.
db.c.insertOne({_id: 1, a: [1, 2, 3]});
db.c.updateOne({_id: 1}, {$pop: {a: -1}});
assert.docEq(db.c.findOne(), {_id: 1, a: [2, 3]});

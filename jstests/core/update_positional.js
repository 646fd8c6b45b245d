// SPDX-License-Identifier: Apache-2.0
// $[] changes all elements.
db.c.insertOne({_id: 1, a: [1, 2]});
db.c.updateOne({_id: 1}, {$inc: {"a.$[]": 10}});
assert.docEq(db.c.findOne(), {_id: 1, a: [11, 12]});

// SPDX-License-Identifier: Apache-2.0
// $pullAll removes what is equal.
db.c.insertOne({_id: 1, a: [1, 2, 3, 1]});
db.c.updateOne({_id: 1}, {$pullAll: {a: [1, 3]}});
assert.docEq(db.c.findOne(), {_id: 1, a: [2]});

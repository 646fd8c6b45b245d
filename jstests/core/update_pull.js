// SPDX-License-Identifier: Apache-2.0
// $pull removes what matches.
db.c.insertOne({_id: 1, a: [1, 5, 9]});
db.c.updateOne({_id: 1}, {$pull: {a: {$gt: 4}}});
assert.docEq(db.c.findOne(), {_id: 1, a: [1]});

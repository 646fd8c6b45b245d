// SPDX-License-Identifier: Apache-2.0
// $bit changes bits.
db.c.insertOne({_id: 1, a: NumberInt(12)});
db.c.updateOne({_id: 1}, {$bit: {a: {or: NumberInt(3)}}});
assert.docEq(db.c.findOne(), {_id: 1, a: 15});

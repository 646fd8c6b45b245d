// SPDX-License-Identifier: Apache-2.0
// $inc, $mul, $min, $max, $push and $addToSet make the field they miss.
db.c.insertOne({_id: 1});
db.c.updateOne({_id: 1}, {$inc: {i: 2}, $mul: {m: 5}, $min: {lo: 3}, $max: {hi: 4}, $push: {p: 1}, $addToSet: {s: 1}, $bit: {b: {or: NumberInt(6)}}});
assert.docEq(db.c.findOne(), {_id: 1, i: 2, m: 0, lo: 3, hi: 4, p: [1], s: [1], b: 6});

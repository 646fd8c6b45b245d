// SPDX-License-Identifier: Apache-2.0
// Counting up a 32-bit number beyond its end makes it a 64-bit one; beyond that it is refused.
db.c.insertOne({_id: 1, i: NumberInt(2147483647), l: NumberLong('9223372036854775807'), d: NumberDecimal('0.1')});
db.c.updateOne({_id: 1}, {$inc: {i: 1, d: NumberDecimal('0.2')}});
assert.eq(db.c.countDocuments({i: {$type: 'long'}, d: NumberDecimal('0.3')}), 1);
assert.eq(db.c.findOne().i, NumberLong('2147483648'));
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$inc: {l: NumberLong(1)}}), 2);

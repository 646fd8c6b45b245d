// SPDX-License-Identifier: Apache-2.0
// 64-bit numbers can be computed with, without loss.
const big = NumberLong('9007199254740993');
assert.eq(big.add(2).toString(), '9007199254740995');
assert.eq(NumberLong(7).multiply(6).toNumber(), 42);
assert.eq([big.compare(big.subtract(1)), big.equals(NumberLong('9007199254740993'))], [1, true]);
db.c.insertOne({_id: 1, n: big});
db.c.updateOne({_id: 1}, {$inc: {n: NumberLong(2)}});
assert.eq(db.c.findOne().n.toString(), '9007199254740995');

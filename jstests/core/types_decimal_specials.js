// SPDX-License-Identifier: Apache-2.0
// NaN, infinities, zeros and 34 digits of decimals.
const texts = ['NaN', 'Infinity', '-Infinity', '-0', '1234567890123456789012345678901234', '1E-6176', '9.999999999999999999999999999999999E+6144'];
db.c.insertMany(texts.map((text, _id) => ({_id, v: NumberDecimal(text)})));
assert.eq(db.c.find().sort({_id: 1}).map((row) => row.v.toString()).toArray(), texts);
assert.eq(db.c.find({v: 0}).map((row) => row._id).toArray(), [3]);

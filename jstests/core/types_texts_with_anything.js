// SPDX-License-Identifier: Apache-2.0
// Texts of all planes, with zero bytes and line ends.
const texts = ['', 'a\0b', '😀 𝔘', 'line\r\nline', '\u2028', '"\\\'', 'x'.repeat(100000)];
db.c.insertMany(texts.map((s, _id) => ({_id, s})));
assert.eq(db.c.find().sort({_id: 1}).map((row) => row.s).toArray(), texts);
assert.eq(db.c.find({s: 'a\0b'}).itcount(), 1);

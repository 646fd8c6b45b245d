// SPDX-License-Identifier: Apache-2.0
// Empty names, spaces, letters of all scripts and numbers as names of fields.
const document = {_id: 1, '': 'empty', 'a b': 2, größe: 3, 日本: 4, '0x': 5, constructor: 6, toString: 7};
db.c.insertOne(document);
assert.docEq(db.c.findOne(), document);
assert.eq(db.c.countDocuments({日本: 4, '': 'empty'}), 1);

// SPDX-License-Identifier: Apache-2.0
// A long is stored and comes back as it was.
const value = NumberLong('9007199254740993');
db.c.insertOne({_id: 1, v: value});
assert.eq(db.c.findOne().v, value);
assert.eq(db.c.countDocuments({v: {$type: 'long'}}), 1);
assert.eq(tojson(db.c.findOne().v), tojson(value));

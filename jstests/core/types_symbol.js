// SPDX-License-Identifier: Apache-2.0
// A symbol is stored and comes back as it was.
const value = BSONSymbol('s');
db.c.insertOne({_id: 1, v: value});
assert.eq(db.c.findOne().v, value);
assert.eq(db.c.countDocuments({v: {$type: 'symbol'}}), 1);
assert.eq(tojson(db.c.findOne().v), tojson(value));

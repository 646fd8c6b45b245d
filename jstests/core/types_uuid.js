// SPDX-License-Identifier: Apache-2.0
// A binData is stored and comes back as it was.
const value = UUID('00112233-4455-6677-8899-aabbccddeeff');
db.c.insertOne({_id: 1, v: value});
assert.eq(db.c.findOne().v, value);
assert.eq(db.c.countDocuments({v: {$type: 'binData'}}), 1);
assert.eq(tojson(db.c.findOne().v), tojson(value));

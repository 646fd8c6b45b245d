// SPDX-License-Identifier: Apache-2.0
// A objectId is stored and comes back as it was.
const value = ObjectId('507f1f77bcf86cd799439011');
db.c.insertOne({_id: 1, v: value});
assert.eq(db.c.findOne().v, value);
assert.eq(db.c.countDocuments({v: {$type: 'objectId'}}), 1);
assert.eq(tojson(db.c.findOne().v), tojson(value));

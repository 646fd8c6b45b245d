// SPDX-License-Identifier: Apache-2.0
// A date is stored and comes back as it was.
const value = ISODate('2020-01-02T03:04:05.678Z');
db.c.insertOne({_id: 1, v: value});
assert.eq(db.c.findOne().v, value);
assert.eq(db.c.countDocuments({v: {$type: 'date'}}), 1);
assert.eq(tojson(db.c.findOne().v), tojson(value));

// SPDX-License-Identifier: Apache-2.0
// Dates before 1970 and far in the future.
const dates = [ISODate('0001-01-01T00:00:00Z'), ISODate('1969-12-31T23:59:59.999Z'), ISODate('9999-12-31T23:59:59.999Z')];
db.c.insertMany(dates.map((d, _id) => ({_id, d})));
assert.eq(db.c.find().sort({d: 1}).map((row) => row.d).toArray(), dates);
assert.eq(db.c.find({d: {$lt: new Date(0)}}).itcount(), 2);

// SPDX-License-Identifier: Apache-2.0
// showRecordId() adds a number of the document's place.
db.c.insertMany([{_id: 'a'}, {_id: 'b'}]);
const rows = db.c.find().showRecordId().toArray();
assert.eq(rows.length, 2);
assert(rows.every((row) => row.$recordId !== undefined));
assert.neq(rows[0].$recordId, rows[1].$recordId);

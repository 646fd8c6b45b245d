// SPDX-License-Identifier: Apache-2.0
// stats(), dataSize() and validate().
db.c.insertMany(Array.from({length: 20}, (_, _id) => ({_id, text: 'x'.repeat(100)})));
const stats = db.c.stats();
assert.eq(stats.count, 20);
assert.eq(stats.ns, db.c.getFullName());
assert.gt(db.c.dataSize(), 2000);
assert.eq(db.c.validate().valid, true);
assert.eq(db.c.validate({full: true}).nrecords, 20);
assert.gte(db.c.totalSize(), 0);

// SPDX-License-Identifier: Apache-2.0
// The fast count is right after inserts, deletes and updates.
db.c.insertMany(Array.from({length: 100}, (_, _id) => ({_id})));
db.c.deleteMany({_id: {$lt: 30}});
db.c.updateMany({}, {$set: {pad: 'x'.repeat(500)}});
db.c.updateOne({_id: 1000}, {$set: {a: 1}}, {upsert: true});
assert.eq(db.c.estimatedDocumentCount(), 71);
assert.eq(db.c.countDocuments({}), 71);
assert.eq(db.c.stats().count, 71);

// SPDX-License-Identifier: Apache-2.0
// A bulk write of nothing, of unknown operations, of what is no update.
assert.throws(() => db.c.bulkWrite([]));
assert.throws(() => db.c.bulkWrite([{frobOne: {}}]));
assert.throws(() => db.c.bulkWrite([{updateOne: {filter: {}, update: {a: 1}}}]));
assert.throws(() => db.c.initializeOrderedBulkOp().execute());
assert.eq(db.getCollectionNames(), []);

// SPDX-License-Identifier: Apache-2.0
// The ordered and the unordered builder.
const ordered = db.c.initializeOrderedBulkOp();
ordered.insert({_id: 1, n: 0});
ordered.find({_id: 1}).updateOne({$inc: {n: 5}});
ordered.find({_id: 2}).upsert().replaceOne({n: 7});
assert.eq(ordered.toJSON(), {nInsertOps: 1, nUpdateOps: 2, nRemoveOps: 0, nBatches: 2});
const result = ordered.execute();
assert.eq([result.insertedCount, result.modifiedCount, result.upsertedCount], [1, 1, 1]);
assert.throws(() => ordered.execute());
const unordered = db.c.initializeUnorderedBulkOp();
unordered.insert({_id: 1});
unordered.insert({_id: 3});
unordered.find({n: 7}).delete();
assert.throwsWithCode(() => unordered.execute(), 11000);
assert.eq(db.c.distinct('_id'), [1, 3]);

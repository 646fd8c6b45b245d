// SPDX-License-Identifier: Apache-2.0
// An upsert makes a document of the filter and the update.
const result = db.c.updateOne({_id: 7, kind: 'x'}, {$set: {b: 1}, $setOnInsert: {fresh: true}}, {upsert: true});
assert.eq([result.upsertedCount, result.insertedId, result.matchedCount], [1, 7, 0]);
assert.docEq(db.c.findOne(), {_id: 7, kind: 'x', b: 1, fresh: true});
db.c.updateOne({_id: 7}, {$setOnInsert: {fresh: false}}, {upsert: true});
assert.eq(db.c.findOne().fresh, true);

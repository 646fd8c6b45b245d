// SPDX-License-Identifier: Apache-2.0
// bulkWrite() does all kinds and counts them.
const result = db.c.bulkWrite([
    {insertOne: {document: {_id: 1, a: 1}}},
    {insertOne: {document: {_id: 2, a: 1}}},
    {updateMany: {filter: {a: 1}, update: {$set: {b: 1}}}},
    {updateOne: {filter: {_id: 9}, update: {$set: {b: 2}}, upsert: true}},
    {replaceOne: {filter: {_id: 1}, replacement: {c: 1}}},
    {deleteOne: {filter: {_id: 2}}},
]);
assert.eq([result.insertedCount, result.matchedCount, result.modifiedCount, result.deletedCount, result.upsertedCount], [2, 3, 3, 1, 1]);
assert.eq(result.upsertedIds, {3: 9});
assert.eq(db.c.find().sort({_id: 1}).toArray(), [{_id: 1, c: 1}, {_id: 9, b: 2}]);

// SPDX-License-Identifier: Apache-2.0
// What a builder's find() can be followed by.
db.c.insertMany([{_id: 1, t: [1, 5]}, {_id: 2}, {_id: 3}]);
const bulk = db.c.initializeUnorderedBulkOp();
bulk.find({_id: 1}).arrayFilters([{x: {$gt: 3}}]).updateOne({$set: {'t.$[x]': 0}});
bulk.find({_id: {$gte: 2}}).update({$set: {m: 1}});
bulk.find({_id: 9}).upsert().updateOne({$set: {u: 1}});
bulk.find({_id: 3}).deleteOne();
const result = bulk.execute();
assert.eq([result.matchedCount, result.upsertedCount, result.deletedCount], [3, 1, 1]);
assert.eq(db.c.find().sort({_id: 1}).toArray(), [{_id: 1, t: [1, 0]}, {_id: 2, m: 1}, {_id: 9, u: 1}]);

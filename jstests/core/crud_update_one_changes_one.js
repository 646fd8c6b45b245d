// SPDX-License-Identifier: Apache-2.0
// updateOne() changes the first match only.
db.c.insertMany([{_id: 1, a: 1}, {_id: 2, a: 1}]);
const result = db.c.updateOne({a: 1}, {$set: {b: 2}});
assert.eq([result.matchedCount, result.modifiedCount, result.upsertedCount], [1, 1, 0]);
assert.eq(db.c.countDocuments({b: 2}), 1);

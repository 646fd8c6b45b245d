// SPDX-License-Identifier: Apache-2.0
// updateMany() changes all matches, and counts those that it changed.
db.c.insertMany([{a: 1}, {a: 1}, {a: 2}, {a: 1, b: 2}]);
const result = db.c.updateMany({a: 1}, {$set: {b: 2}});
assert.eq([result.matchedCount, result.modifiedCount], [3, 2]);

// SPDX-License-Identifier: Apache-2.0
// An update and a delete take a hint; one that is no index is refused.
db.c.createIndex({a: 1});
db.c.insertMany([{_id: 1, a: 1}, {_id: 2, a: 2}]);
assert.eq(db.c.updateOne({a: 2}, {$set: {b: 1}}, {hint: 'a_1'}).modifiedCount, 1);
assert.eq(db.c.deleteOne({a: 1}, {hint: {a: 1}}).deletedCount, 1);
assert.throwsWithCode(() => db.c.updateOne({a: 2}, {$set: {b: 2}}, {hint: {zz: 1}}), 2);

// SPDX-License-Identifier: Apache-2.0
// deleteOne() deletes one match, deleteMany() all.
db.c.insertMany([{a: 1}, {a: 1}, {a: 1}, {a: 2}]);
assert.eq(db.c.deleteOne({a: 1}).deletedCount, 1);
assert.eq(db.c.deleteMany({a: 1}).deletedCount, 2);
assert.eq(db.c.deleteMany({a: 9}).deletedCount, 0);
assert.eq(db.c.countDocuments({}), 1);

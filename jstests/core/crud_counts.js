// SPDX-License-Identifier: Apache-2.0
// The four ways to count.
db.c.insertMany(Array.from({length: 10}, (_, i) => ({i})));
assert.eq(db.c.countDocuments({i: {$gte: 5}}), 5);
assert.eq(db.c.countDocuments({}, {skip: 2, limit: 3}), 3);
assert.eq(db.c.estimatedDocumentCount(), 10);
assert.eq(db.c.count({i: 1}), 1);
assert.eq(db.c.find({i: {$lt: 5}}).limit(2).count(), 5);
assert.eq(db.c.find({i: {$lt: 5}}).limit(2).size(), 2);
assert.eq(db.nothing.countDocuments({}), 0);

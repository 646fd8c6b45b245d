// SPDX-License-Identifier: Apache-2.0
// use() and getSiblingDB() change or reach the database.
const before = db.getName();
db.c.insertOne({_id: 1});
use(before + '_o');
assert.eq([db.getName(), db.c.countDocuments({})], [before + '_o', 0]);
assert.eq(db.getSiblingDB(before).c.countDocuments({}), 1);
use(before);
assert.throws(() => db.getSiblingDB('a b'));

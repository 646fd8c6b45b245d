// SPDX-License-Identifier: Apache-2.0
// $indexStats tells how often an index was used.
db.c.createIndex({a: 1});
db.c.insertOne({a: 1});
db.c.find({a: 1}).itcount();
db.c.find({a: 2}).itcount();
const [stats] = db.c.aggregate([{$indexStats: {}}, {$match: {name: 'a_1'}}]).toArray();
assert.eq(Number(stats.accesses.ops), 2);

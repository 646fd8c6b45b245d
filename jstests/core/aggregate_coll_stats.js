// SPDX-License-Identifier: Apache-2.0
// $collStats counts documents and bytes.
db.c.insertMany([{_id: 1}, {_id: 2}]);
const [stats] = db.c.aggregate([{$collStats: {storageStats: {}, count: {}, latencyStats: {}}}]).toArray();
assert.eq(stats.ns, db.c.getFullName());
assert.eq([Number(stats.count), Number(stats.storageStats.count)], [2, 2]);
assert.gte(Number(stats.latencyStats.writes.ops), 1);

// SPDX-License-Identifier: Apache-2.0
// $$REMOVE takes a field away where a condition says so.
db.c.insertMany([{_id: 1, n: 1}, {_id: 2, n: 5}]);
assert.eq(db.c.aggregate([{$sort: {_id: 1}}, {$set: {n: {$cond: [{$gt: ['$n', 3]}, '$n', '$$REMOVE']}}}]).toArray(), [{_id: 1}, {_id: 2, n: 5}]);

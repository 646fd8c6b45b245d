// SPDX-License-Identifier: Apache-2.0
// A value outside of all buckets is an error without a default.
db.c.insertMany([{n: 1}, {n: 99}]);
assert.throwsWithCode(() => db.c.aggregate([{$bucket: {groupBy: '$n', boundaries: [0, 10]}}]), 40066);
assert.eq(db.c.aggregate([{$bucket: {groupBy: '$n', boundaries: [0, 10], default: 'rest'}}]).toArray(), [{_id: 0, count: 1}, {_id: 'rest', count: 1}]);

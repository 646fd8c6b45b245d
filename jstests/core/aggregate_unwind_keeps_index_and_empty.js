// SPDX-License-Identifier: Apache-2.0
// $unwind tells the place of each element and may keep documents that have none.
db.c.insertMany([{_id: 1, t: ['x', 'y']}, {_id: 2, t: []}, {_id: 3}, {_id: 4, t: 'z'}]);
assert.eq(db.c.aggregate([{$sort: {_id: 1}}, {$unwind: {path: '$t', includeArrayIndex: 'at'}}]).toArray(),
          [{_id: 1, t: 'x', at: 0}, {_id: 1, t: 'y', at: 1}, {_id: 4, t: 'z', at: null}]);
assert.eq(db.c.aggregate([{$unwind: {path: '$t', preserveNullAndEmptyArrays: true}}]).itcount(), 5);
assert.throwsWithCode(() => db.c.aggregate([{$unwind: 't'}]), 28818);

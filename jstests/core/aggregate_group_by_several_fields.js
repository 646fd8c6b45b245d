// SPDX-License-Identifier: Apache-2.0
// The key of a group may be an object of expressions.
db.c.insertMany([{y: 2023, m: 1, n: 1}, {y: 2023, m: 1, n: 2}, {y: 2024, m: 1, n: 4}]);
assert.eq(db.c.aggregate([{$group: {_id: {year: '$y', month: '$m'}, n: {$sum: '$n'}}}, {$sort: {'_id.year': 1}}]).toArray(),
          [{_id: {year: 2023, month: 1}, n: 3}, {_id: {year: 2024, month: 1}, n: 4}]);

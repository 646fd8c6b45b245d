// SPDX-License-Identifier: Apache-2.0
// $sum and $avg look at numbers only; $min and $max at all but null.
db.c.insertMany([{n: 1}, {n: 'x'}, {n: null}, {}, {n: 4}]);
assert.eq(db.c.aggregate([{$group: {_id: null, s: {$sum: '$n'}, a: {$avg: '$n'}, lo: {$min: '$n'}, hi: {$max: '$n'}, c: {$count: {}}}}]).toArray(),
          [{_id: null, s: 5, a: 2.5, lo: 1, hi: 'x', c: 5}]);

// SPDX-License-Identifier: Apache-2.0
// $top, $bottomN and their like pick by an order of their own.
db.c.insertMany([{_id: 1, p: 'ann', s: 7}, {_id: 2, p: 'bob', s: 9}, {_id: 3, p: 'cay', s: 8}]);
assert.eq(db.c.aggregate([{$group: {_id: null, best: {$top: {sortBy: {s: -1}, output: '$p'}}, worst: {$bottom: {sortBy: {s: -1}, output: '$p'}},
                                    two: {$topN: {n: 2, sortBy: {s: -1}, output: ['$p', '$s']}}}}]).toArray(),
          [{_id: null, best: 'bob', worst: 'ann', two: [['bob', 9], ['cay', 8]]}]);

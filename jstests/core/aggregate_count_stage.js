// SPDX-License-Identifier: Apache-2.0
// $count counts, and gives nothing when there is nothing.
db.c.insertMany([{n: 1}, {n: 2}, {n: 3}]);
assert.eq(db.c.aggregate([{$match: {n: {$gt: 1}}}, {$count: 'many'}]).toArray(), [{many: 2}]);
assert.eq(db.c.aggregate([{$match: {n: {$gt: 9}}}, {$count: 'many'}]).toArray(), []);
assert.throws(() => db.c.aggregate([{$count: '$many'}]));

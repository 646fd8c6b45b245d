// SPDX-License-Identifier: Apache-2.0
// $out and $merge write collections.
db.c.insertMany([{_id: 1, n: 1}, {_id: 2, n: 2}]);
db.c.aggregate([{$match: {n: 2}}, {$out: 'written'}]);
assert.eq(db.written.find().toArray(), [{_id: 2, n: 2}]);
db.c.aggregate([{$set: {n: {$add: ['$n', 10]}}}, {$merge: {into: 'written', whenMatched: 'replace'}}]);
assert.eq(db.written.find().sort({_id: 1}).toArray(), [{_id: 1, n: 11}, {_id: 2, n: 12}]);

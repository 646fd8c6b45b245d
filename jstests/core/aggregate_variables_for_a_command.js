// SPDX-License-Identifier: Apache-2.0
// `let` gives names to values for a whole command.
db.c.insertMany([{_id: 1, n: 1}, {_id: 2, n: 5}]);
assert.eq(db.c.aggregate([{$match: {$expr: {$gt: ['$n', '$$least']}}}], {let: {least: 3}}).toArray(), [{_id: 2, n: 5}]);
assert.eq(db.c.find({$expr: {$eq: ['$n', '$$n']}}).let({n: 1}).toArray(), [{_id: 1, n: 1}]);
assert.eq(db.c.updateMany({$expr: {$gt: ['$n', '$$least']}}, [{$set: {big: true}}], {let: {least: 3}}).modifiedCount, 1);

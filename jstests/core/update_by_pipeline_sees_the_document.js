// SPDX-License-Identifier: Apache-2.0
// An update by pipeline computes from the fields that are there.
db.c.insertMany([{_id: 1, price: 10, q: 3}, {_id: 2, price: 4, q: 5}]);
db.c.updateMany({}, [{$set: {total: {$multiply: ['$price', '$q']}}}, {$unset: 'q'}, {$set: {big: {$gt: ['$total', 25]}}}]);
assert.eq(db.c.find().sort({_id: 1}).toArray(), [{_id: 1, price: 10, total: 30, big: true}, {_id: 2, price: 4, total: 20, big: false}]);
assert.throws(() => db.c.updateOne({}, [{$match: {}}]));

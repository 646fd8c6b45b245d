// SPDX-License-Identifier: Apache-2.0
// $lookup with $unwind makes the rows of a join.
db.orders.insertMany([{_id: 1, item: 'nut', q: 2}, {_id: 2, item: 'pin', q: 1}, {_id: 3, item: 'nut', q: 5}]);
db.items.insertMany([{_id: 'nut', price: 3}, {_id: 'pin', price: 1}]);
assert.eq(db.orders.aggregate([
    {$lookup: {from: 'items', localField: 'item', foreignField: '_id', as: 'item'}}, {$unwind: '$item'},
    {$group: {_id: '$item._id', total: {$sum: {$multiply: ['$q', '$item.price']}}}}, {$sort: {_id: 1}}]).toArray(),
          [{_id: 'nut', total: 21}, {_id: 'pin', total: 1}]);

// SPDX-License-Identifier: Apache-2.0
// $lookup runs a pipeline that sees the outer document's values.
db.people.insertMany([{_id: 1, name: 'ann', age: 30}, {_id: 2, name: 'bob', age: 50}]);
db.offers.insertMany([{_id: 'x', least: 18}, {_id: 'y', least: 40}]);
assert.eq(db.people.aggregate([{$sort: {_id: 1}}, {$lookup: {from: 'offers', let: {age: '$age'}, as: 'may',
    pipeline: [{$match: {$expr: {$gte: ['$$age', '$least']}}}, {$sort: {_id: 1}}, {$project: {_id: 1}}]}}]).toArray().map((row) => row.may),
          [[{_id: 'x'}], [{_id: 'x'}, {_id: 'y'}]]);

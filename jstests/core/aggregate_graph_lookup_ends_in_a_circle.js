// SPDX-License-Identifier: Apache-2.0
// $graphLookup takes every document once, also where references go round.
db.g.insertMany([{_id: 1, to: 2}, {_id: 2, to: 3}, {_id: 3, to: 1}]);
const [row] = db.g.aggregate([{$match: {_id: 1}}, {$graphLookup: {from: 'g', startWith: '$to', connectFromField: 'to', connectToField: '_id', as: 'all'}}]).toArray();
assert.sameMembers(row.all.map((each) => each._id), [1, 2, 3]);

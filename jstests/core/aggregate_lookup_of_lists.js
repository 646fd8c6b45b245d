// SPDX-License-Identifier: Apache-2.0
// $lookup of a field that is a list finds what any element names; of a missing field what has none.
db.a.insertMany([{_id: 1, ref: ['p', 'q']}, {_id: 2}]);
db.b.insertMany([{_id: 'p'}, {_id: 'q'}, {_id: 'r'}, {_id: null}]);
const found = db.a.aggregate([{$sort: {_id: 1}}, {$lookup: {from: 'b', localField: 'ref', foreignField: '_id', as: 'found'}}]).toArray();
assert.sameMembers(found[0].found.map((row) => row._id), ['p', 'q']);
assert.eq(found[1].found, [{_id: null}]);

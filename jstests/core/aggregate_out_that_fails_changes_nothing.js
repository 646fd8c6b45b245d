// SPDX-License-Identifier: Apache-2.0
// When a pipeline fails, the target of its $out is as it was.
db.src.insertMany([{_id: 1, n: 1}, {_id: 2, n: 0}]);
db.dst.insertOne({_id: 'old'});
assert.throws(() => db.src.aggregate([{$set: {x: {$divide: [1, '$n']}}}, {$out: 'dst'}]));
assert.eq(db.dst.find().toArray(), [{_id: 'old'}]);

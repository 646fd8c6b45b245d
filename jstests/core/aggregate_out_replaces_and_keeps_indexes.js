// SPDX-License-Identifier: Apache-2.0
// $out puts its result in a collection's place, whose indexes stay.
db.src.insertMany([{_id: 1}, {_id: 2}]);
db.dst.insertOne({_id: 9, old: true});
db.dst.createIndex({n: 1});
db.src.aggregate([{$set: {n: '$_id'}}, {$out: 'dst'}]);
assert.eq(db.dst.find().sort({_id: 1}).toArray(), [{_id: 1, n: 1}, {_id: 2, n: 2}]);
assert.eq(db.dst.getIndexKeys().length, 2);

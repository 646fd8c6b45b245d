// SPDX-License-Identifier: Apache-2.0
// $merge finds by a field only where a unique index vouches for it.
db.src.insertOne({_id: 1, k: 'a', n: 2});
db.dst.insertOne({_id: 77, k: 'a', n: 1});
const run = () => db.src.aggregate([{$unset: '_id'}, {$merge: {into: 'dst', on: 'k'}}]);
assert.throwsWithCode(run, 51183);
db.dst.createIndex({k: 1}, {unique: true});
run();
assert.eq(db.dst.find().toArray(), [{_id: 77, k: 'a', n: 2}]);

// SPDX-License-Identifier: Apache-2.0
// A DBRef's parts have a '$' in front, and paths may name them: in filters, indexes, projections and $lookup.
db.books.insertMany([
    {_id: 1, by: {$ref: 'authors', $id: 7}},
    {_id: 2, by: {$ref: 'authors', $id: 8}}
]);
db.authors.insertMany([{_id: 7, name: 'Ada'}, {_id: 8, name: 'Grace'}]);

db.books.createIndex({'by.$id': 1});
assert.eq(db.books.find({'by.$id': 8}).toArray().map(one => one._id), [2]);
assert.eq(db.books.find({'by.$id': 8}).explain().queryPlanner.winningPlan.inputStage.stage, 'IXSCAN');
assert.eq(db.books.find({_id: 1}, {_id: 0, 'by.$id': 1}).toArray(), [{by: {$id: 7}}]);

const joined = db.books.aggregate([
    {$lookup: {from: 'authors', localField: 'by.$id', foreignField: '_id', as: 'author'}},
    {$project: {id: '$by.$id', name: {$first: '$author.name'}}},
    {$sort: {_id: 1}}
]).toArray();
assert.eq(joined, [{_id: 1, id: 7, name: 'Ada'}, {_id: 2, id: 8, name: 'Grace'}]);

// No other name may begin with it.
assert.throws(() => db.books.createIndex({'by.$no': 1}), [], 'an index of $no');
assert.throws(() => db.books.createIndex({$id: 1}), [], 'an index of $id alone');
assert.throws(() => db.books.aggregate([{$project: {x: '$by.$no'}}]).toArray(), [], 'a path with $no');

// SPDX-License-Identifier: Apache-2.0
// $lookup in a collection that is not there gives empty lists.
db.a.insertOne({_id: 1});
assert.eq(db.a.aggregate([{$lookup: {from: 'nowhere', localField: '_id', foreignField: 'x', as: 'found'}}]).toArray(), [{_id: 1, found: []}]);

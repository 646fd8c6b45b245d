// SPDX-License-Identifier: Apache-2.0
// $set of a dotted path sets it in every element; $unset takes it away.
db.c.insertOne({_id: 1, t: [{a: 1}, {a: 2, b: 0}]});
assert.eq(db.c.aggregate([{$set: {'t.b': 9}}]).toArray(), [{_id: 1, t: [{a: 1, b: 9}, {a: 2, b: 9}]}]);
assert.eq(db.c.aggregate([{$unset: ['t.b', '_id']}]).toArray(), [{t: [{a: 1}, {a: 2}]}]);

// SPDX-License-Identifier: Apache-2.0
// The _id of an upsert comes from the filter or the replacement, and must agree.
assert.eq(db.c.replaceOne({n: 1}, {_id: 'own', n: 1}, {upsert: true}).insertedId, 'own');
assert.eq(db.c.updateOne({_id: 7}, {$set: {a: 1}}, {upsert: true}).insertedId, 7);
assert.throwsWithCode(() => db.c.updateOne({_id: 8}, {$set: {_id: 9}}, {upsert: true}), 66);
assert(db.c.updateOne({none: 1}, {$set: {a: 2}}, {upsert: true}).insertedId instanceof ObjectId);

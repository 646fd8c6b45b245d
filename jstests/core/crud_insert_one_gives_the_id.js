// SPDX-License-Identifier: Apache-2.0
// insertOne() tells the _id, made or given.
const made = db.c.insertOne({a: 1});
assert(made.acknowledged);
assert(made.insertedId instanceof ObjectId);
assert.eq(db.c.findOne({_id: made.insertedId}).a, 1);
assert.eq(db.c.insertOne({_id: 'own'}).insertedId, 'own');

// SPDX-License-Identifier: Apache-2.0
// replaceOne() puts another document in the place.
db.c.insertOne({_id: 1, a: 1});
db.c.replaceOne({_id: 1}, {b: 2});
assert.eq(db.c.findOne(), {_id: 1, b: 2});
assert.throws(() => db.c.replaceOne({_id: 1}, {$set: {a: 1}}));
assert.throwsWithCode(() => db.c.replaceOne({_id: 1}, {_id: 2}), 66);

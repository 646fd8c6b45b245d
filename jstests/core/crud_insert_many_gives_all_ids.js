// SPDX-License-Identifier: Apache-2.0
// insertMany() tells the ids by their place.
const result = db.c.insertMany([{_id: 5}, {_id: 'x'}, {}]);
assert.eq(result.insertedIds[0], 5);
assert.eq(result.insertedIds[1], 'x');
assert(result.insertedIds[2] instanceof ObjectId);
assert.eq(db.c.countDocuments({}), 3);

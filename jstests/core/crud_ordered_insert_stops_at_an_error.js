// SPDX-License-Identifier: Apache-2.0
// An ordered insertMany() ends at the first error, an unordered one goes on.
db.c.insertOne({_id: 2});
const ordered = assert.throwsWithCode(() => db.c.insertMany([{_id: 1}, {_id: 2}, {_id: 3}]), 11000);
assert.eq(ordered.writeErrors.length, 1);
assert.eq(ordered.writeErrors[0].index, 1);
assert.eq(ordered.result.insertedCount, 1);
assert.eq(db.c.countDocuments({}), 2);
const unordered = assert.throwsWithCode(() => db.c.insertMany([{_id: 1}, {_id: 4}, {_id: 2}, {_id: 5}], {ordered: false}), 11000);
assert.eq(unordered.writeErrors.map((error) => error.index), [0, 2]);
assert.eq(db.c.countDocuments({}), 4);

// SPDX-License-Identifier: Apache-2.0
// A document cannot grow beyond 16 MiB; it stays as it was.
const half = 'x'.repeat(9 * 1024 * 1024);
db.c.insertOne({_id: 1, a: half});
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$set: {b: half}}), [10334, 17419, 17420]);
assert.eq(Object.keys(db.c.findOne()), ['_id', 'a']);
assert.throws(() => db.c.insertOne({_id: 2, a: half, b: half}));
assert.eq(db.c.countDocuments({}), 1);

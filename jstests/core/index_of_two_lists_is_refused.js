// SPDX-License-Identifier: Apache-2.0
// A compound index takes one list of a document, not two.
db.c.createIndex({a: 1, b: 1});
db.c.insertMany([{a: [1, 2], b: 1}, {a: 1, b: [1, 2]}]);
assert.throwsWithCode(() => db.c.insertOne({a: [1], b: [2]}), 171);
assert.eq(db.c.countDocuments({}), 2);

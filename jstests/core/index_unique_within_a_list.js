// SPDX-License-Identifier: Apache-2.0
// A unique index lets a document hold a value twice, and no other document hold it.
db.c.createIndex({t: 1}, {unique: true});
db.c.insertOne({_id: 1, t: [1, 1, 2]});
assert.throwsWithCode(() => db.c.insertOne({_id: 2, t: [2, 3]}), 11000);
db.c.insertOne({_id: 3, t: [3]});

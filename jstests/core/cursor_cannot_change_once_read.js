// SPDX-License-Identifier: Apache-2.0
// What has been read from cannot be sorted any more.
db.c.insertOne({});
const cursor = db.c.find();
cursor.hasNext();
assert.throws(() => cursor.sort({a: 1}));

// SPDX-License-Identifier: Apache-2.0
// A cursor whose collection is dropped ends with an error and not with wrong documents.
db.c.insertMany(Array.from({length: 300}, (_, _id) => ({_id})));
const cursor = db.c.find().batchSize(100);
cursor.next();
db.c.drop();
db.c.insertOne({_id: 'new'});
assert.throwsWithCode(() => cursor.toArray(), [175, 43]);

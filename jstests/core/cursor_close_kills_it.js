// SPDX-License-Identifier: Apache-2.0
// close() ends a cursor on the server.
db.c.insertMany(Array.from({length: 300}, (_, _id) => ({_id})));
const cursor = db.c.find().batchSize(2);
const id = cursor.getId();
cursor.close();
assert(cursor.isClosed());
assert.throwsWithCode(() => db.runCommand({getMore: id, collection: 'c'}), 43);

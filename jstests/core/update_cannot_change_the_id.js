// SPDX-License-Identifier: Apache-2.0
// The _id of a document stays what it is.
db.c.insertOne({_id: 1, a: 1});
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$set: {_id: 2}}), 66);
assert.throwsWithCode(() => db.c.replaceOne({_id: 1}, {_id: 2, a: 2}), 66);
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$unset: {_id: 1}}), 66);
assert.eq(db.c.updateOne({_id: 1}, {$set: {_id: 1, a: 2}}).modifiedCount, 1);

// SPDX-License-Identifier: Apache-2.0
// An update operator that does not exist, and an empty modifier.
db.c.insertOne({_id: 1});
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$frob: {a: 1}}), 9);
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$set: 5}), 9);
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$inc: {a: 'x'}}), 14);

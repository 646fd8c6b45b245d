// SPDX-License-Identifier: Apache-2.0
// Two operators cannot change one field.
db.c.insertOne({_id: 1});
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$set: {a: 1}, $inc: {a: 1}}), 40);
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$set: {_id: 2}}), 66);

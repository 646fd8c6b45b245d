// SPDX-License-Identifier: Apache-2.0
// A validator may warn only, or let pass what was wrong before.
db.createCollection('c', {validator: {n: {$type: 'int'}}, validationLevel: 'moderate'});
assert.throwsWithCode(() => db.c.insertOne({n: 'x'}), 121);
db.c.insertOne({_id: 1, n: 'x'}, {bypassDocumentValidation: true});
db.c.updateOne({_id: 1}, {$set: {m: 1}});
db.runCommand({collMod: 'c', validationAction: 'warn'});
db.c.insertOne({_id: 2, n: 'y'});
assert.eq(db.c.countDocuments({}), 2);

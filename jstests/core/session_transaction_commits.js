// SPDX-License-Identifier: Apache-2.0
// What a transaction wrote is seen after commit and not before.
load('jstests/libs/needs.js');
needsTransactions();
db.createCollection('c');
const session = db.getMongo().startSession();
const inside = session.getDatabase(db.getName());
session.startTransaction();
inside.c.insertOne({_id: 1});
assert.eq(db.c.countDocuments({}), 0);
assert.eq(inside.c.countDocuments({}), 1);
session.commitTransaction();
assert.eq(db.c.countDocuments({}), 1);
session.endSession();

// SPDX-License-Identifier: Apache-2.0
// What an aborted transaction wrote is gone.
load('jstests/libs/needs.js');
needsTransactions();
db.createCollection('c');
const session = db.getMongo().startSession();
session.startTransaction();
session.getDatabase(db.getName()).c.insertOne({_id: 1});
session.abortTransaction();
assert.eq(db.c.countDocuments({}), 0);
assert.throws(() => session.commitTransaction());
session.endSession();
assert(session.hasEnded());

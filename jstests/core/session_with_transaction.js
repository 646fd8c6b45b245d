// SPDX-License-Identifier: Apache-2.0
// withTransaction() commits, or aborts when its function throws.
load('jstests/libs/needs.js');
needsTransactions();
db.createCollection('c');
const session = db.getMongo().startSession();
const inside = session.getDatabase(db.getName());
session.withTransaction(() => { inside.c.insertOne({_id: 1}); inside.c.insertOne({_id: 2}); });
assert.throws(() => session.withTransaction(() => { inside.c.insertOne({_id: 3}); throw new Error('no'); }));
assert.eq(db.c.countDocuments({}), 2);
session.endSession();

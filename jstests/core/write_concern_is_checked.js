// SPDX-License-Identifier: Apache-2.0
// A write concern that cannot be is refused; majority and j hold.
assert.eq(db.c.insertOne({_id: 1}, {writeConcern: {w: 'majority', j: true, wtimeout: 5000}}).acknowledged, true);
assert.throwsWithCode(() => db.c.insertOne({_id: 2}, {writeConcern: {w: 2}}), TestData.replicaSet ? 100 : 2);
assert.eq(db.c.countDocuments({_id: 2}), TestData.replicaSet ? 1 : 0);  // a set writes, and says that it is not enough
assert.throws(() => db.c.insertOne({_id: 3}, {writeConcern: {w: 1, frob: 1}}));
assert.throws(() => db.c.insertOne({_id: 4}, {writeConcern: {w: -1}}));

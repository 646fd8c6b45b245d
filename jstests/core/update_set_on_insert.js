// SPDX-License-Identifier: Apache-2.0
// $setOnInsert works when the upsert inserts, and only then.
const update = {$set: {n: 1}, $setOnInsert: {made: 'now'}};
assert.eq(db.c.updateOne({_id: 1}, update, {upsert: true}).upsertedCount, 1);
db.c.updateOne({_id: 1}, {$unset: {made: 1}});
assert.eq(db.c.updateOne({_id: 1}, update, {upsert: true}).upsertedCount, 0);
assert.eq(db.c.findOne(), {_id: 1, n: 1});

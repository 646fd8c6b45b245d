// SPDX-License-Identifier: Apache-2.0
// `it` shows the next twenty.
db.c.insertMany(Array.from({length: 45}, (_, _id) => ({_id})));
assert.eq(DBQuery.shellBatchSize, 20);
config.set('displayBatchSize', 10);
assert.eq(DBQuery.shellBatchSize, 10);

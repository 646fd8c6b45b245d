// SPDX-License-Identifier: Apache-2.0
// Settings are told, changed and put back.
assert.eq(config.get('displayBatchSize'), 20);
config.set('displayBatchSize', 3);
assert.eq(DBQuery.shellBatchSize, 3);
DBQuery.shellBatchSize = 20;
assert.throws(() => config.set('frob', 1));

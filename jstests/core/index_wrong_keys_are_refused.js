// SPDX-License-Identifier: Apache-2.0
// Keys that are no directions are refused.
assert.throwsWithCode(() => db.c.createIndex({a: 'bad'}), 67);
assert.throwsWithCode(() => db.c.createIndex({a: 0}), 67);
assert.throws(() => db.c.createIndex({}));

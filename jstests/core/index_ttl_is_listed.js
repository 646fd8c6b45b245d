// SPDX-License-Identifier: Apache-2.0
// expireAfterSeconds is kept.
db.c.createIndex({at: 1}, {expireAfterSeconds: 3600});
assert.eq(db.c.getIndexes()[1].expireAfterSeconds, 3600);

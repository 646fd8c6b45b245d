// SPDX-License-Identifier: Apache-2.0
// The role dbAdmin makes indexes and validates, and reads no documents.
load('jstests/libs/as_user.js');
db.c.insertOne({a: 1});
const ann = asUser('ann', ['dbAdmin']);
ann.c.createIndex({a: 1});
assert.eq(ann.c.validate().valid, true);
assert.eq(ann.stats().ok, 1);
refused(() => ann.c.findOne());
refused(() => ann.c.insertOne({}));
db.dropUser('ann');

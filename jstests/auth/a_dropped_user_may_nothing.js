// SPDX-License-Identifier: Apache-2.0
// A user that is dropped while connected may nothing from then on.
load('jstests/libs/as_user.js');
db.c.insertOne({});
const ann = asUser('ann', ['read']);
assert.neq(ann.c.findOne(), null);
db.dropUser('ann');
assert.throws(() => ann.c.findOne());
assert.eq(ann.runCommand({ping: 1}).ok, 1);

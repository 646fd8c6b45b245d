// SPDX-License-Identifier: Apache-2.0
// A role that is granted or taken away counts for connections that are there.
load('jstests/libs/as_user.js');
db.c.insertOne({});
const ann = asUser('ann', []);
refused(() => ann.c.findOne());
db.grantRolesToUser('ann', ['read']);
assert.neq(ann.c.findOne(), null);
db.revokeRolesFromUser('ann', ['read']);
refused(() => ann.c.findOne());
db.dropUser('ann');

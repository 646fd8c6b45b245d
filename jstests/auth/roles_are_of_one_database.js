// SPDX-License-Identifier: Apache-2.0
// A role in one database gives nothing in another.
load('jstests/libs/as_user.js');
const other = db.getSiblingDB(db.getName() + '_o');
other.c.insertOne({});
const ann = asUser('ann', ['readWrite']);
refused(() => ann.getSiblingDB(other.getName()).c.findOne());
db.grantRolesToUser('ann', [{role: 'read', db: other.getName()}]);
assert.eq(ann.getSiblingDB(other.getName()).c.countDocuments({}), 1);
db.dropUser('ann');
other.dropDatabase();

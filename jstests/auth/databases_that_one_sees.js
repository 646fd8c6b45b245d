// SPDX-License-Identifier: Apache-2.0
// listDatabases shows a user the databases that roles open.
load('jstests/libs/as_user.js');
db.c.insertOne({});
const ann = asUser('ann', ['read']);
assert.eq(ann.getSiblingDB('admin').runCommand({listDatabases: 1, nameOnly: true}).databases.map((each) => each.name), [db.getName()]);
db.dropUser('ann');

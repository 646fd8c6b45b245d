// SPDX-License-Identifier: Apache-2.0
// The role userAdmin makes users and reads no documents.
load('jstests/libs/as_user.js');
db.c.insertOne({});
const ann = asUser('ann', ['userAdmin']);
ann.createUser({user: 'bob', pwd: 'x', roles: ['read']});
assert.eq(ann.getUsers().users.map((user) => user.user).sort(), ['ann', 'bob']);
refused(() => ann.c.findOne());
ann.dropUser('bob');
db.dropUser('ann');

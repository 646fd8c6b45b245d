// SPDX-License-Identifier: Apache-2.0
// Users are made, changed, listed and dropped.
db.createUser({user: 'ann', pwd: 'secret', roles: ['read'], customData: {a: 1}});
assert.throwsWithCode(() => db.createUser({user: 'ann', pwd: 'x', roles: []}), 51003);
assert.eq(db.getUser('ann').roles, [{role: 'read', db: db.getName()}]);
db.grantRolesToUser('ann', ['dbAdmin']);
assert.eq(db.getUser('ann').roles.length, 2);
db.revokeRolesFromUser('ann', ['read']);
db.changeUserPassword('ann', 'other');
assert.eq(db.getUsers().users.length, 1);
db.dropUser('ann');
assert.eq(db.getUser('ann'), null);

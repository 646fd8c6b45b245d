// SPDX-License-Identifier: Apache-2.0
// A user without a password, with a role that is not there, or made twice.
assert.commandFailedWithCode(db.tryCommand({createUser: 'x', roles: []}), [2, 9, 40414]);
assert.eq(assert.throws(() => db.createUser({user: 'x', pwd: 'x', roles: ['frob']})).codeName, 'RoleNotFound');
db.createUser({user: 'x', pwd: 'x', roles: []});
assert.throwsWithCode(() => db.createUser({user: 'x', pwd: 'x', roles: []}), 51003);
assert.eq(assert.throws(() => db.dropUser('nobody')).codeName, 'UserNotFound');
assert.eq(db.dropAllUsers().n, 1);

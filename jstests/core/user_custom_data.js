// SPDX-License-Identifier: Apache-2.0
// What is kept with a user, and changed.
db.createUser({user: 'ann', pwd: 'x', roles: [], customData: {team: 1}});
db.updateUser('ann', {customData: {team: 2}, roles: ['read']});
const user = db.getUser('ann');
assert.eq([user.customData, user.roles.length, user.mechanisms.includes('SCRAM-SHA-256')], [{team: 2}, 1, true]);
assert.eq(db.getUser('ann', {showCredentials: true}).credentials !== undefined, true);
db.dropUser('ann');

// SPDX-License-Identifier: Apache-2.0
// A user logs in with the right password only.
db.createUser({user: 'ann', pwd: 'right', roles: ['readWrite']});
const other = new Mongo(db.getMongo().getURI()).getDB(db.getName());
assert.throwsWithCode(() => other.auth('ann', 'wrong'), 18);
assert.eq(other.auth('ann', 'right').ok, 1);
const {authInfo} = other.runCommand({connectionStatus: 1});
assert.eq(authInfo.authenticatedUsers, [{user: 'ann', db: db.getName()}]);
other.logout();
assert.eq(other.runCommand({connectionStatus: 1}).authInfo.authenticatedUsers, []);
db.changeUserPassword('ann', 'new');
assert.throwsWithCode(() => other.auth('ann', 'right'), 18);
db.dropUser('ann');

// SPDX-License-Identifier: Apache-2.0
// Without a login only what everybody may is answered.
const nobody = new Mongo(`mongodb://${db.getMongo().host}/`).getDB(db.getName());
assert.eq(nobody.runCommand({ping: 1}).ok, 1);
assert.eq(nobody.hello().ok, 1);
assert.eq(nobody.runCommand({connectionStatus: 1}).authInfo.authenticatedUsers, []);
for (const command of [{find: 'c'}, {insert: 'c', documents: [{}]}, {listCollections: 1}, {dropDatabase: 1}, {usersInfo: 1}]) {
    assert.commandFailedWithCode(nobody.tryCommand(command), 13, command);
}
assert.commandFailedWithCode(nobody.getSiblingDB('admin').tryCommand({serverStatus: 1}), 13);

// SPDX-License-Identifier: Apache-2.0
// asUser(name, roles, options): makes a user of this test's database and gives that database as the user sees it.
globalThis.asUser = (name, roles, options = {}) => {
    db.createUser({user: name, pwd: 'word of ' + name, roles, ...options});
    const other = new Mongo(`mongodb://${db.getMongo().host}/${db.getName()}`).getDB(db.getName());
    other.auth(name, 'word of ' + name);
    return other;
};
globalThis.refused = (action, message) => assert.eq(assert.throwsWithCode(action, 13, [], message).codeName, 'Unauthorized');

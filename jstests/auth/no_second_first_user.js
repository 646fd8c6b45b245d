// SPDX-License-Identifier: Apache-2.0
// Once there is a user, nobody may make another without a login.
const nobody = new Mongo(`mongodb://${db.getMongo().host}/`).getDB('admin');
assert.throwsWithCode(() => nobody.createUser({user: 'me', pwd: 'too', roles: ['root']}), 13);
assert.eq(db.getSiblingDB('admin').getUser('me'), null);

// SPDX-License-Identifier: Apache-2.0
// User and password of a connection string, with signs that must be written as numbers.
load('jstests/libs/connections.js');
db.createUser({user: 'a@b', pwd: 'p:/?#@ ü', roles: ['read']});
const place = encodeURIComponent(db.getMongo().host).replace('%3A', ':');
const uri = (password, options = '') => `mongodb://${encodeURIComponent('a@b')}:${encodeURIComponent(password)}@${place}/${db.getName()}?authSource=${db.getName()}${options}`;
for (const mechanism of ['SCRAM-SHA-256', 'SCRAM-SHA-1']) {
    const other = new Mongo(uri('p:/?#@ ü', '&authMechanism=' + mechanism));
    assert.eq(other.adminCommand({connectionStatus: 1}).authInfo.authenticatedUsers, [{user: 'a@b', db: db.getName()}]);
}
assert.throwsWithCode(() => new Mongo(uri('wrong')), 18);
db.dropUser('a@b');

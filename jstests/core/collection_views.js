// SPDX-License-Identifier: Apache-2.0
// A view shows what its pipeline gives, and cannot be written.
load('jstests/libs/needs.js');
needs('views', () => db.createView('probe', 'c', []));
db.c.insertMany([{_id: 1, a: 1}, {_id: 2, a: 2}]);
db.createView('v', 'c', [{$match: {a: 2}}]);
assert.eq(db.v.find().toArray(), [{_id: 2, a: 2}]);
assert.throwsWithCode(() => db.v.insertOne({}), 166);
assert.eq(db.getCollectionInfos({name: 'v'})[0].type, 'view');

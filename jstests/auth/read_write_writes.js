// SPDX-License-Identifier: Apache-2.0
// The role readWrite writes and makes collections and indexes, and no users.
load('jstests/libs/as_user.js');
const ann = asUser('ann', ['readWrite']);
ann.c.insertMany([{_id: 1}, {_id: 2}]);
ann.c.createIndex({a: 1});
ann.c.aggregate([{$out: 'd'}]);
ann.c.drop();
assert.eq(ann.getCollectionNames(), ['d']);
refused(() => ann.createUser({user: 'x', pwd: 'x', roles: []}));
refused(() => ann.dropDatabase());
refused(() => ann.setProfilingLevel(2));
db.dropUser('ann');

// SPDX-License-Identifier: Apache-2.0
// dbHash is the same for the same documents, and another after a change.
const md5 = (name) => db.runCommand({dbHash: 1, collections: [name]}).collections[name];
db.a.insertMany([{_id: 1}, {_id: 2}]);
db.b.insertMany([{_id: 1}, {_id: 2}]);
assert.eq(md5('a'), md5('b'));
db.b.updateOne({_id: 2}, {$set: {x: 1}});
assert.neq(md5('a'), md5('b'));

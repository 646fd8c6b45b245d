// SPDX-License-Identifier: Apache-2.0
// createCollection(), its options, and drop().
load('jstests/libs/needs.js');
needs('capped collections', () => db.createCollection('probe', {capped: true, size: 4096}));
assert.eq(db.createCollection('c').ok, 1);
assert.throwsWithCode(() => db.createCollection('c', {capped: true, size: 4096}), 48);
db.createCollection('k', {capped: true, size: 4096, max: 2});
assert(db.k.isCapped());
db.k.insertMany([{_id: 1}, {_id: 2}, {_id: 3}]);
assert.eq(db.k.distinct('_id'), [2, 3]);
assert.eq(db.c.drop(), true);
assert.eq(db.c.exists(), null);
assert.eq(db.k.exists().options.capped, true);

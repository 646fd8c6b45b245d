// SPDX-License-Identifier: Apache-2.0
// explain of count and distinct.
load('jstests/libs/plans.js');
db.c.createIndex({a: 1});
db.c.insertMany([{a: 1}, {a: 1}, {a: 2}]);
assert(!stagesOf(db.c.explain().count({a: 1})).includes('COLLSCAN'));
assert(stagesOf(db.c.explain().distinct('a', {a: {$gt: 1}})).length > 0);

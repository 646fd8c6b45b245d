// SPDX-License-Identifier: Apache-2.0
// A partial index serves only queries that it can answer whole.
load('jstests/libs/plans.js');
db.c.createIndex({n: 1}, {partialFilterExpression: {n: {$gte: 10}}});
db.c.insertMany(Array.from({length: 20}, (_, n) => ({n})));
assert.contains('IXSCAN', stagesOf(db.c.find({n: {$gte: 15}}).explain()));
assert.contains('COLLSCAN', stagesOf(db.c.find({n: {$gte: 5}}).explain()));
assert.eq(db.c.find({n: {$gte: 5}}).itcount(), 15);

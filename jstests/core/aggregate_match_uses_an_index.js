// SPDX-License-Identifier: Apache-2.0
// A $match at the head of a pipeline reads through an index.
load('jstests/libs/plans.js');
db.c.createIndex({a: 1});
db.c.insertMany(Array.from({length: 100}, (_, a) => ({a})));
assert.contains('IXSCAN', stagesOf(db.c.explain().aggregate([{$match: {a: 5}}, {$project: {a: 1}}])));
assert.contains('COLLSCAN', stagesOf(db.c.explain().aggregate([{$match: {b: 5}}])));

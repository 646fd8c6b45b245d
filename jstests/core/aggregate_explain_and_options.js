// SPDX-License-Identifier: Apache-2.0
// Options of aggregate().
db.c.insertMany([{_id: 1}, {_id: 2}, {_id: 3}]);
assert.eq(db.c.aggregate([{$sort: {_id: 1}}], {batchSize: 1, allowDiskUse: true}).toArray().length, 3);
assert.eq(db.c.aggregate({$match: {_id: 1}}, {$project: {_id: 1}}).toArray(), [{_id: 1}]);
assert.eq(typeof db.c.aggregate([{$match: {_id: 1}}], {explain: true}), 'object');
assert.throwsWithCode(() => db.c.aggregate([{$nosuch: 1}]), 40324);
assert.eq(db.aggregate([{$documents: [{x: 1}]}]).toArray(), [{x: 1}]);

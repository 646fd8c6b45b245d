// SPDX-License-Identifier: Apache-2.0
// $mergeObjects lays a group's objects over each other.
db.c.insertMany([{_id: 1, o: {a: 1, b: 1}}, {_id: 2, o: {b: 2}}, {_id: 3}]);
assert.eq(db.c.aggregate([{$sort: {_id: 1}}, {$group: {_id: null, all: {$mergeObjects: '$o'}}}]).toArray(), [{_id: null, all: {a: 1, b: 2}}]);

// SPDX-License-Identifier: Apache-2.0
// What a group keeps in the order of its documents.
db.c.insertMany([{_id: 1, k: 'a', n: 3}, {_id: 2, k: 'a', n: 1}, {_id: 3, k: 'a', n: 3}]);
const [row] = db.c.aggregate([{$sort: {_id: 1}}, {$group: {_id: '$k', first: {$first: '$n'}, last: {$last: '$n'}, all: {$push: '$n'}, set: {$addToSet: '$n'}}}]).toArray();
assert.eq([row.first, row.last, row.all], [3, 3, [3, 1, 3]]);
assert.sameMembers(row.set, [1, 3]);

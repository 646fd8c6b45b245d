// SPDX-License-Identifier: Apache-2.0
// $pull takes out what fits a condition, of values and of objects.
db.c.insertOne({_id: 1, n: [1, 5, 9], o: [{k: 'a', q: 1}, {k: 'b', q: 8}, {k: 'a', q: 9}], s: ['ant', 'bee', 'ape']});
db.c.updateOne({_id: 1}, {$pull: {n: {$gte: 5}, o: {k: 'a', q: {$gt: 5}}, s: /^a/}});
assert.docEq(db.c.findOne(), {_id: 1, n: [1], o: [{k: 'a', q: 1}, {k: 'b', q: 8}], s: ['bee']});

// SPDX-License-Identifier: Apache-2.0
// An index on a field of objects in a list finds documents by any of them, each once.
db.c.createIndex({'t.k': 1});
db.c.insertMany([{_id: 1, t: [{k: 'a'}, {k: 'b'}]}, {_id: 2, t: [{k: 'b'}, {k: 'b'}]}, {_id: 3, t: {k: 'c'}}]);
assert.eq(db.c.find({'t.k': {$gte: 'a'}}).hint('t.k_1').itcount(), 3);
assert.sameMembers(db.c.find({'t.k': 'b'}).hint('t.k_1').map((row) => row._id).toArray(), [1, 2]);
db.c.updateOne({_id: 1}, {$pull: {t: {k: 'b'}}});
assert.eq(db.c.find({'t.k': 'b'}).hint('t.k_1').map((row) => row._id).toArray(), [2]);

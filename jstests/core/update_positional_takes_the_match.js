// SPDX-License-Identifier: Apache-2.0
// $ is the element that the filter found.
db.c.insertOne({_id: 1, t: [5, 8, 5], items: [{k: 'a', n: 1}, {k: 'b', n: 2}]});
db.c.updateOne({t: 5}, {$set: {'t.$': 6}});
db.c.updateOne({_id: 1, 'items.k': 'b'}, {$inc: {'items.$.n': 10}});
db.c.updateOne({_id: 1, items: {$elemMatch: {k: 'a', n: 1}}}, {$set: {'items.$.seen': true}});
assert.docEq(db.c.findOne(), {_id: 1, t: [6, 8, 5], items: [{k: 'a', n: 1, seen: true}, {k: 'b', n: 12}]});

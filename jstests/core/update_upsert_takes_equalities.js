// SPDX-License-Identifier: Apache-2.0
// An upserted document has the fields that the filter fixes, from $and, $eq and $in of one as well.
db.c.updateOne({a: 1, b: {$eq: 2}, $and: [{c: 3}], d: {$gt: 9}}, {$set: {e: 5}}, {upsert: true});
assert.docEq(db.c.findOne({}, {_id: 0}), {a: 1, b: 2, c: 3, e: 5});
db.d.updateOne({'o.x': 1}, {$inc: {'o.y': 2}}, {upsert: true});
assert.docEq(db.d.findOne({}, {_id: 0}), {o: {x: 1, y: 2}});

// SPDX-License-Identifier: Apache-2.0
// $set of a dotted path makes the objects on the way; numbers are places in a list, filled up with null.
db.c.insertOne({_id: 1, t: ['a']});
db.c.updateOne({_id: 1}, {$set: {'x.y.z': 1, 't.3': 'd'}});
assert.docEq(db.c.findOne(), {_id: 1, t: ['a', null, null, 'd'], x: {y: {z: 1}}});
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$set: {'x.y.z.w': 1}}), 28);

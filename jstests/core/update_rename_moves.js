// SPDX-License-Identifier: Apache-2.0
// $rename moves a field, also out of and into objects, over one that is there.
db.c.insertOne({_id: 1, a: 1, b: 2, o: {x: 3}});
db.c.updateOne({_id: 1}, {$rename: {a: 'b', 'o.x': 'p.y'}});
assert.docEq(db.c.findOne(), {_id: 1, b: 1, o: {}, p: {y: 3}});
assert.throws(() => db.c.updateOne({_id: 1}, {$rename: {b: 'b'}}));

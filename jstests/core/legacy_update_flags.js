// SPDX-License-Identifier: Apache-2.0
// update() with its flags as numbers of arguments: upsert, then multi.
db.c.insertMany([{_id: 1, a: 1}, {_id: 2, a: 1}]);
db.c.update({a: 1}, {$set: {b: 1}});
assert.eq(db.c.countDocuments({b: 1}), 1);
db.c.update({a: 1}, {$set: {b: 2}}, false, true);
assert.eq(db.c.countDocuments({b: 2}), 2);
db.c.update({_id: 3}, {a: 3}, true);
assert.eq(db.c.findOne({_id: 3}), {_id: 3, a: 3});
assert.throws(() => db.c.update({a: 1}, {c: 1}, {multi: true}));

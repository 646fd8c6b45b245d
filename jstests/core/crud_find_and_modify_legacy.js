// SPDX-License-Identifier: Apache-2.0
// findAndModify() under its first name.
db.c.insertOne({_id: 1, a: 1});
assert.eq(db.c.findAndModify({query: {_id: 1}, update: {$inc: {a: 1}}, new: true}).a, 2);
assert.eq(db.c.findAndModify({query: {_id: 1}, remove: true}).a, 2);
assert.eq(db.c.count(), 0);

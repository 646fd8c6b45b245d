// SPDX-License-Identifier: Apache-2.0
// updateMany that fails at one document has changed those before it.
db.c.insertMany([{_id: 1, n: 1}, {_id: 2, n: 'x'}, {_id: 3, n: 3}]);
assert.throwsWithCode(() => db.c.updateMany({}, {$inc: {n: 10}}, {hint: {_id: 1}}), 14);
assert.eq(db.c.findOne({_id: 2}).n, 'x');
assert.eq(db.c.findOne({_id: 3}).n, 3);

// SPDX-License-Identifier: Apache-2.0
// map() and forEach().
db.c.insertMany([{_id: 1}, {_id: 2}, {_id: 3}]);
assert.eq(db.c.find().sort({_id: 1}).map((document) => document._id * 2).toArray(), [2, 4, 6]);
let sum = 0;
db.c.find().forEach((document) => { sum += document._id; });
assert.eq(sum, 6);
let seen = 0;
db.c.find().forEach(() => { ++seen; return false; });
assert.eq(seen, 1);

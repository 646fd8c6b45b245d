// SPDX-License-Identifier: Apache-2.0
// map() of map().
db.c.insertMany([{_id: 1}, {_id: 2}]);
assert.eq(db.c.find().sort({_id: 1}).map((row) => row._id).map((n) => n * 10).toArray(), [10, 20]);

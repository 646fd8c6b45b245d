// SPDX-License-Identifier: Apache-2.0
// findOneAndDelete() with a sort takes the first.
db.c.insertMany([{_id: 1, a: 3}, {_id: 2, a: 1}, {_id: 3, a: 2}]);
assert.eq(db.c.findOneAndDelete({}, {sort: {a: 1}})._id, 2);
assert.eq(db.c.findOneAndDelete({}, {sort: {a: -1}, projection: {_id: 0}}), {a: 3});
assert.eq(db.c.findOneAndDelete({a: 9}), null);

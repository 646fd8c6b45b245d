// SPDX-License-Identifier: Apache-2.0
// A cursor can be walked by for ... of.
db.c.insertMany([{_id: 1}, {_id: 2}, {_id: 3}]);
const seen = [];
for (const row of db.c.find().sort({_id: 1})) {
    seen.push(row._id);
}
assert.eq(seen, [1, 2, 3]);

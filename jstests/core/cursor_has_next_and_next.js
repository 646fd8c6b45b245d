// SPDX-License-Identifier: Apache-2.0
// hasNext(), next() and tryNext(); after the last document there is null, as in mongosh.
db.c.insertMany([{_id: 1}, {_id: 2}]);
const cursor = db.c.find().sort({_id: 1});
assert(cursor.hasNext());
assert.eq(cursor.next(), {_id: 1});
assert.eq(cursor.tryNext(), {_id: 2});
assert.eq(cursor.tryNext(), null);
assert(!cursor.hasNext());
assert.eq(cursor.next(), null);

// SPDX-License-Identifier: Apache-2.0
// tryNext() gives null at the end, and goes on doing so.
db.c.insertOne({_id: 1});
const cursor = db.c.find();
assert.eq(cursor.tryNext(), {_id: 1});
assert.eq(cursor.tryNext(), null);
assert.eq(cursor.tryNext(), null);
assert(cursor.isExhausted());

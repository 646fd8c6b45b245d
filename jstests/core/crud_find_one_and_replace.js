// SPDX-License-Identifier: Apache-2.0
// findOneAndReplace() replaces.
db.c.insertOne({_id: 1, a: 1});
assert.eq(db.c.findOneAndReplace({a: 1}, {b: 1}, {returnDocument: 'after'}), {_id: 1, b: 1});

// SPDX-License-Identifier: Apache-2.0
// findOneAndUpdate() gives the document as it was, or as it is.
db.c.insertOne({_id: 1, a: 1});
assert.eq(db.c.findOneAndUpdate({_id: 1}, {$inc: {a: 1}}), {_id: 1, a: 1});
assert.eq(db.c.findOneAndUpdate({_id: 1}, {$inc: {a: 1}}, {returnDocument: 'after'}), {_id: 1, a: 3});
assert.eq(db.c.findOneAndUpdate({_id: 2}, {$inc: {a: 1}}), null);
assert.eq(db.c.findOneAndUpdate({_id: 2}, {$inc: {a: 1}}, {upsert: true, returnNewDocument: true}), {_id: 2, a: 1});

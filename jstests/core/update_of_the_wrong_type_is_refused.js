// SPDX-License-Identifier: Apache-2.0
// Counting up a text, pushing onto a number: error 14, and nothing changes.
db.c.insertOne({_id: 1, s: 'text', n: 5});
for (const update of [{$inc: {s: 1}}, {$mul: {s: 2}}]) {
    assert.throwsWithCode(() => db.c.updateOne({_id: 1}, update), 14);
}
for (const update of [{$push: {n: 1}}, {$addToSet: {n: 1}}, {$pop: {n: 1}}, {$pull: {n: 1}}]) {
    assert.throwsWithCode(() => db.c.updateOne({_id: 1}, update), [2, 14]);
}
assert.eq(db.c.findOne(), {_id: 1, s: 'text', n: 5});

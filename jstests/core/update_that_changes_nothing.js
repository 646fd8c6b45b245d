// SPDX-License-Identifier: Apache-2.0
// An update that leaves a document as it is matches, and modifies nothing.
db.c.insertOne({_id: 1, a: 1, t: [1]});
for (const update of [{$set: {a: 1}}, {$inc: {a: 0}}, {$min: {a: 5}}, {$addToSet: {t: 1}}, {$unset: {x: 1}}, {$pull: {t: 9}}, {$rename: {x: 'y'}}]) {
    const {matchedCount, modifiedCount} = db.c.updateOne({_id: 1}, update);
    assert.eq([matchedCount, modifiedCount], [1, 0], update);
}

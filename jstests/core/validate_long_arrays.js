// SPDX-License-Identifier: Apache-2.0
// A document with a long indexed array is written, validated and found by any of its elements.
db.c.createIndex({a: 1});
db.c.createIndex({s: 1, a: -1});
const elements = [];
for (let i = 0; i < 20000; ++i) {
  elements.push(i % 15000);
}
db.c.insertOne({_id: 1, s: 'x', a: elements});
assert.eq(Number(db.c.validate().keysPerIndex.a_1), 15000);
assert.eq(db.c.find({s: 'x', a: 14999}).itcount(), 1);
db.c.updateOne({_id: 1}, {$push: {a: -1}});
const after = db.c.validate();
assert(after.valid);
assert.eq(Number(after.keysPerIndex['s_1_a_-1']), 15001);
db.c.deleteOne({_id: 1});
assert.eq(Number(db.c.validate().keysPerIndex.a_1), 0);

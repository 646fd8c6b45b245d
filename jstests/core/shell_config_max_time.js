// SPDX-License-Identifier: Apache-2.0
// config.set('maxTimeMS') bounds what does not say otherwise.
db.c.insertOne({});
const slow = [{$match: {$expr: {$lt: [{$reduce: {input: {$range: [0, 100000]}, initialValue: 0, in: {$add: ['$$value', '$$this']}}}, 0]}}}];
const many = Array.from({length: 500}, () => ({}));
db.c.insertMany(many);
config.set('maxTimeMS', 1);
assert.throwsWithCode(() => db.c.aggregate(slow).toArray(), 50);
config.set('maxTimeMS', 600000);
assert.eq(db.c.find().batchSize(100).toArray().length, 501);
db.c.updateMany({}, {$set: {a: 1}});
assert.eq(db.c.deleteMany({a: 1}).deletedCount, 501);
db.c.insertOne({_id: 1});
db.c.createIndex({a: 1});
assert.eq(db.c.distinct('_id'), [1]);
assert.eq(db.c.findOneAndUpdate({_id: 1}, {$set: {b: 1}}), {_id: 1});
config.reset('maxTimeMS');
assert.eq(config.get('maxTimeMS'), null);

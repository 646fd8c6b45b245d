// SPDX-License-Identifier: Apache-2.0
// A unique compound index admits each combination once.
db.c.createIndex({a: 1, b: 1}, {unique: true});
db.c.insertMany([{a: 1, b: 1}, {a: 1, b: 2}, {a: 2, b: 1}]);
const error = assert.throwsWithCode(() => db.c.insertOne({a: 1, b: 2}), 11000);
assert.eq([error.keyPattern, error.keyValue], [{a: 1, b: 1}, {a: 1, b: 2}]);
assert.throwsWithCode(() => db.c.updateOne({a: 2}, {$set: {a: 1}}), 11000);

// SPDX-License-Identifier: Apache-2.0
// A unique index admits one of each.
db.c.createIndex({a: 1}, {unique: true});
db.c.insertOne({a: 1});
assert.throwsWithCode(() => db.c.insertOne({a: 1}), 11000);
db.c.insertOne({});
assert.throwsWithCode(() => db.c.insertOne({a: null}), 11000);
assert.throwsWithCode(() => { db.d.insertMany([{x: 1}, {x: 1}]); db.d.createIndex({x: 1}, {unique: true}); }, 11000);

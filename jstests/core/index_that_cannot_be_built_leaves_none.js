// SPDX-License-Identifier: Apache-2.0
// A unique index over doubles is not made, and others of the same command neither.
db.c.insertMany([{a: 1, b: 1}, {a: 1, b: 2}]);
assert.throwsWithCode(() => db.runCommand({createIndexes: 'c', indexes: [{key: {b: 1}, name: 'b'}, {key: {a: 1}, name: 'a', unique: true}]}), 11000);
assert.eq(db.c.getIndexes().map((index) => index.name), ['_id_']);

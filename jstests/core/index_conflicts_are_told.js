// SPDX-License-Identifier: Apache-2.0
// One name for two indexes: 86; one key under two names: 85.
db.c.createIndex({a: 1}, {name: 'x'});
assert.eq(assert.throwsWithCode(() => db.c.createIndex({b: 1}, {name: 'x'}), 86).codeName, 'IndexKeySpecsConflict');
assert.eq(assert.throwsWithCode(() => db.c.createIndex({a: 1}, {name: 'y'}), 85).codeName, 'IndexOptionsConflict');
db.c.createIndex({a: 1}, {name: 'x'});
assert.eq(db.c.getIndexes().length, 2);

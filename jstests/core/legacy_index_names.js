// SPDX-License-Identifier: Apache-2.0
// ensureIndex, getIndices and getIndexSpecs are still there.
assert.eq(db.c.ensureIndex({a: 1}, {unique: true}), 'a_1');
assert.eq(db.c.getIndices().length, 2);
assert.eq(db.c.getIndexSpecs()[1].unique, true);

// SPDX-License-Identifier: Apache-2.0
// More operations than a command holds are cut into several.
const documents = Array.from({length: 100010}, (_, i) => ({_id: i}));
assert.eq(Object.keys(db.c.insertMany(documents, {ordered: false}).insertedIds).length, 100010);
assert.eq(db.c.estimatedDocumentCount(), 100010);

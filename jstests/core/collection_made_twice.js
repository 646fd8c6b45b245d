// SPDX-License-Identifier: Apache-2.0
// Making a collection that is there: well when it is the same, error 48 otherwise.
db.createCollection('c');
assert.commandWorked(db.tryCommand({create: 'c'}));
assert.eq(db.tryCommand({create: 'c', validator: {a: 1}}).codeName, 'NamespaceExists');

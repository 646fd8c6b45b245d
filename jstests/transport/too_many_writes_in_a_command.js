// SPDX-License-Identifier: Apache-2.0
// A command writes at most 100,000 times.
const documents = Array.from({length: 100001}, (_, _id) => ({_id}));
assert.commandFailedWithCode(db.tryCommand({insert: 'c', documents}), 16);
documents.pop();
assert.eq(db.runCommand({insert: 'c', documents}).n, 100000);
assert.commandFailedWithCode(db.tryCommand({insert: 'c', documents: []}), 16);

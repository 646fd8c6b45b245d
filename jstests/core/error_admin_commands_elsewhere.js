// SPDX-License-Identifier: Apache-2.0
// Commands of the server are for the database admin.
assert.commandFailedWithCode(db.tryCommand({listDatabases: 1}), 13);
assert.commandFailedWithCode(db.tryCommand({getParameter: 1, logLevel: 1}), 13);
assert.commandWorked(db.adminCommand({listDatabases: 1, nameOnly: true}));

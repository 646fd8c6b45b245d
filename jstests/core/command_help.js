// SPDX-License-Identifier: Apache-2.0
// db.commandHelp() tells what a command is for, and does not run it.
db.c.insertOne({_id: 1});
assert(db.commandHelp('drop').startsWith('help for: drop '), db.commandHelp('drop'));
assert.eq(db.c.countDocuments({}), 1);

// SPDX-License-Identifier: Apache-2.0
// Sessions are refreshed, listed and killed.
const session = db.getMongo().startSession();
session.getDatabase(db.getName()).c.findOne();
assert.commandWorked(db.runCommand({refreshSessions: [session.getSessionId()]}));
assert.commandWorked(db.runCommand({killSessions: [session.getSessionId()]}));
session.endSession();

// SPDX-License-Identifier: Apache-2.0
// The commands that tools ask.
assert.eq(db.serverStatus().ok, 1);
assert.eq(db.hello().isWritablePrimary, true);
assert.eq(db.isMaster().ismaster, true);
assert.eq(db.stats().db, db.getName());
assert.eq(typeof db.version(), 'string');
assert.eq(db.serverBuildInfo().versionArray.length, 4);
assert.eq(db.hostInfo().ok, 1);
assert.eq(db.serverCmdLineOpts().ok, 1);
assert(Object.keys(db.listCommands()).includes('find'));
assert.eq(db.currentOp().ok, 1);

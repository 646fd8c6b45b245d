// SPDX-License-Identifier: Apache-2.0
// What entry points and health checks of containers run.
assert.eq(db.adminCommand('ping').ok, 1);
assert.eq(db.stats().ok, 1);
assert.eq(db.runCommand('ping').ok, 1);
assert.eq(db.runCommand({ping: 1}).ok, 1);
assert.eq(db.hello().ok, 1);
let state;
try { state = rs.status().ok; } catch (e) { state = e.codeName; }
assert(state === 1 || state === 'NoReplicationEnabled', state);
const admin = db.getSiblingDB('admin');
admin.createUser({user: 'root' + process.pid, pwd: 'x', roles: [{role: 'root', db: 'admin'}]});
admin.dropUser('root' + process.pid);

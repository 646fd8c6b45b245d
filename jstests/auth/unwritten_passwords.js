// SPDX-License-Identifier: Apache-2.0
// Passwords are not in the log, in currentOp or in the profile.
db.setProfilingLevel(2);
db.createUser({user: 'ann', pwd: 'unspeakable', roles: []});
db.setProfilingLevel(0);
assert(!EJSON.stringify(db.getCollection('system.profile').find().toArray()).includes('unspeakable'));
assert(!db.adminCommand({getLog: 'global'}).log.join('\n').includes('unspeakable'));
assert(!EJSON.stringify(db.getUser('ann', {showCredentials: true})).includes('unspeakable'));
db.dropUser('ann');

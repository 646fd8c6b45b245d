// SPDX-License-Identifier: Apache-2.0
// A TTL index takes away what is older, and leaves what has no date.
const server = FreshetRunner.runServer({setParameter: {ttlMonitorSleepSecs: 1}});
const {c} = server.getDB('test');
c.createIndex({at: 1}, {expireAfterSeconds: 60});
c.insertMany([{_id: 'old', at: new Date(Date.now() - 3600000)}, {_id: 'new', at: new Date()}, {_id: 'none'}, {_id: 'text', at: '2001'}]);
assert.soon(() => c.countDocuments({}) === 3);
assert.sameMembers(c.distinct('_id'), ['new', 'none', 'text']);
FreshetRunner.stopServer(server);

// SPDX-License-Identifier: Apache-2.0
// Indexes are there after SIGKILL, and agree with the documents.
const server = FreshetRunner.runServer();
const before = server.getDB('test').c;
before.createIndex({a: 1}, {unique: true});
before.insertMany(Array.from({length: 200}, (_, a) => ({a})), {writeConcern: {w: 1, j: true}});
server.kill();
server.restart();
const {c} = {c: server.getDB('test').c};
assert.eq(c.find({a: {$gte: 100}}).hint({a: 1}).itcount(), 100);
assert.throwsWithCode(() => c.insertOne({a: 5}), 11000);
FreshetRunner.stopServer(server);

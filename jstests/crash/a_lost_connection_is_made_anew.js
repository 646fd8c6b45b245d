// SPDX-License-Identifier: Apache-2.0
// A command after a restart connects again; the one in between fails.
const server = FreshetRunner.runServer();
const database = server.getDB('test');
database.c.insertOne({_id: 1}, {writeConcern: {w: 1, j: true}});
server.kill();
const error = assert.throws(() => database.c.findOne());
assert.eq(error.name, 'MongoNetworkError');
server.restart();
assert.soonNoExcept(() => database.c.findOne()._id === 1);
FreshetRunner.stopServer(server);

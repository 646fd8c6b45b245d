// SPDX-License-Identifier: Apache-2.0
// SIGTERM ends a server with 0 and loses nothing.
const server = FreshetRunner.runServer();
server.getDB('test').c.insertOne({_id: 1});
assert.eq(server.stop(), 0);
server.restart();
assert.eq(server.getDB('test').c.findOne(), {_id: 1});
assert.eq(FreshetRunner.stopServer(server), 0);

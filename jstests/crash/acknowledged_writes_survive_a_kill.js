// SPDX-License-Identifier: Apache-2.0
// What was acknowledged with j: true is there after SIGKILL.
const server = FreshetRunner.runServer();
const c = server.getDB('test').c;
for (let i = 0; i < 50; ++i) {
    c.insertOne({_id: i}, {writeConcern: {w: 1, j: true}});
}
assert.eq(server.kill(), -9);
server.restart();
assert.eq(server.getDB('test').c.countDocuments({}), 50);
assert.eq(server.getDB('test').c.validate({full: true}).valid, true);
assert.eq(FreshetRunner.stopServer(server), 0);

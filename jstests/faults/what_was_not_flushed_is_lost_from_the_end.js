// SPDX-License-Identifier: Apache-2.0
// After a power cut a writer that waited for nothing has lost its last writes, and none before one that is there.
const server = FreshetRunner.runServer();
const {c} = server.getDB('test');
const sure = 20;
for (let i = 0; i < sure; ++i) {
    c.insertOne({_id: i}, {writeConcern: {w: 1, j: i === sure - 1}});
}
for (let i = sure; i < 300; ++i) {
    c.insertOne({_id: i}, {writeConcern: {w: 1, j: false}});
}
server.kill();
server.restart();
const ids = server.getDB('test').c.find().sort({_id: 1}).map((document) => document._id).toArray();
assert.gte(ids.length, sure);
assert.eq(ids, Array.from(ids, (_, at) => at));
assert.eq(FreshetRunner.stopServer(server), 0);

// SPDX-License-Identifier: Apache-2.0
// A journal in which a write is missing and later ones are there: the server does not start, says where, and ends with code 3.
const server = FreshetRunner.runServer({syncdelay: 3600, faults: ['write */journal/j.* drop nth=12']});
const {c} = server.getDB('test');
for (let i = 0; i < 40; ++i) {
    c.insertOne({_id: i}, {writeConcern: {w: 1, j: true}});
}
server.kill();
const refused = assert.throws(() => server.restart({faults: undefined}));
assert.includes(refused.message, 'ended with 3');
assert(/journal\/j\.[0-9a-f]{8} at offset \d+/.test(refused.message), refused.message);
server.remove();

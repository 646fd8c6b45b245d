// SPDX-License-Identifier: Apache-2.0
// What may not be durable is not acknowledged: the server ends with code 14, and what it had acknowledged is there.
const server = FreshetRunner.runServer({faults: ['sync */journal/j.* error nth=15']});
const {c} = server.getDB('test');
let kept = 0;
const error = assert.throws(() => {
    for (;;) {
        c.insertOne({_id: kept}, {writeConcern: {w: 1, j: true}});
        ++kept;
    }
});
assert.eq(server.awaitEnd(), 14, error);
server.restart({faults: undefined});
const there = server.getDB('test').c.countDocuments({});
assert(there === kept || there === kept + 1, `${there} of ${kept}`);
assert.eq(FreshetRunner.stopServer(server), 0);

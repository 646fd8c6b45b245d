// SPDX-License-Identifier: Apache-2.0
// serverStatus counts requests and their bytes.
load('jstests/libs/connections.js');
const network = () => db.serverStatus().network;
const before = network();
db.c.insertOne({s: bytesOf(1000000)});
db.c.findOne();
const after = network();
assert.gte(Number(after.numRequests) - Number(before.numRequests), 3);
assert.between(1000000, Number(after.bytesIn) - Number(before.bytesIn), 1100000);
assert.between(1000000, Number(after.bytesOut) - Number(before.bytesOut), 1100000);

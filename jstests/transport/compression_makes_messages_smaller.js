// SPDX-License-Identifier: Apache-2.0
// What the server reads of a packed message is less than what was said.
load('jstests/libs/connections.js');
const bytesIn = () => Number(db.serverStatus().network.physicalBytesIn || db.serverStatus().network.bytesIn);
const cost = (options) => {
    const other = connection(options);
    const before = bytesIn();
    other.getDB(db.getName()).c.insertOne({s: bytesOf(2000000)});
    const after = bytesIn();
    other.close();
    return after - before;
};
assert.gte(cost(), 2000000);
assert.lt(cost('compressors=zstd'), 200000);

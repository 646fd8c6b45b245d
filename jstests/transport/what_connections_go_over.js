// SPDX-License-Identifier: Apache-2.0
// currentOp tells what a connection goes over, and serverStatus that RDMA carries the messages of one that has moved.
load('jstests/libs/connections.js');
const over = TestData.transport || (db.getMongo().host.endsWith('.sock') ? 'unix' : 'tcp');
const other = connection();
for (const mongo of [db.getMongo(), other]) {
    const operations = mongo.getDB('admin').aggregate([{$currentOp: {}}], {comment: jsTestName()}).toArray();
    const own = operations.filter((operation) => operation.command && operation.command.comment === jsTestName());
    assert.eq(own.map((operation) => operation.transport), [over]);
}
if (over === 'rdma') {
    const rdma = () => db.serverStatus().rdma;
    const before = rdma();
    assert.gte(Number(before.sessions), 2);
    db.c.insertOne({s: bytesOf(1000000)});
    assert.eq(db.c.findOne().s.length, 1000000);
    const after = rdma();
    for (const way of ['bytesCopiedIn', 'bytesSentInPlace']) {
        assert.gte(Number(after[way]) - Number(before[way]), 1000000, way);
    }
    assert.eq(Number(after.fallbacksToTcp), 0);
    other.close();
    assert.soon(() => Number(rdma().sessions) < Number(before.sessions));
}

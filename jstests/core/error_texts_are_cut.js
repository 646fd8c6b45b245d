// SPDX-License-Identifier: Apache-2.0
// An error that quotes what somebody sent is a few kilobytes long, whatever that was.
const long = 'x'.repeat(1000000);
db.c.insertOne({_id: 1});
for (const command of [{ping: 1, [long]: 1}, {[long]: 1}, {find: 'c', filter: {a: {['$' + long]: 1}}},
                       {find: 'c', filter: {$where: "throw new Error('x'.repeat(1e7))"}}]) {
    const reply = db.tryCommand(command);
    assert.eq(reply.ok, 0);
    assert.lte(reply.errmsg.length, 4096);
    assert.eq(reply.errmsg.slice(-3), '...');
}

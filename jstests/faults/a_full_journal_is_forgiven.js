// SPDX-License-Identifier: Apache-2.0
// While the journal finds no room for its next segment, writes are refused; then they are taken again, and nothing that was
// acknowledged is lost. With this much memory, whatever the machine has, the first two segments take 4 and 8 writes to make: room
// for the first documents, and the next is made when the second segment is taken.
const server = FreshetRunner.runServer({
    memoryLimitGB: 0.25,
    faults: ['write */journal/next.tmp error nospace nth=14 times=5']
});
let {c} = server.getDB('test');
const kept = [];
const pad = 'p'.repeat(100000);
let refusals = 0;
for (let i = 0; refusals === 0 && i < 2000; ++i) {
    try {
        c.insertOne({_id: i, pad}, {writeConcern: {w: 1, j: true}});
        kept.push(i);
    } catch (error) {
        assert.eq(error.code, 14031, error);
        ++refusals;
    }
}
assert.gt(refusals, 0, 'the disk was never full');
assert.eq(c.findOne({_id: kept[0]}).pad, pad);
assert.soonNoExcept(() => c.insertOne({_id: 'after'}, {writeConcern: {w: 1, j: true}}).acknowledged);
assert.eq(server.kill(), -9);
server.restart({faults: undefined});
({c} = server.getDB('test'));
const there = new Set(c.find({}, {_id: 1}).map((document) => document._id).toArray());
assert.eq([...kept, 'after'].filter((id) => !there.has(id)), []);
assert.eq(FreshetRunner.stopServer(server), 0);

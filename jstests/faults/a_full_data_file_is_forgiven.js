// SPDX-License-Identifier: Apache-2.0
// While the data file cannot grow one may read and delete but not write; with room again all is there.
const server = FreshetRunner.runServer({syncdelay: 0.1, faults: ['write */data.freshet error nospace growing nth=2 times=0']});
const {c} = server.getDB('test');
const pad = 'p'.repeat(1000000);
const full = () => {
    for (let kept = 0; kept < 300; ++kept) {
        try {
            c.insertOne({_id: kept, pad}, {writeConcern: {w: 1, j: true}});
        } catch (error) {
            assert.eq(error.code, 14031, error);
            return kept;
        }
    }
    return doassert('the disk was never full');
};
const kept = full();
assert.eq(c.findOne({_id: 0}).pad, pad);
assert.eq(c.deleteOne({_id: 0}, {writeConcern: {w: 1, j: true}}).deletedCount, 1);
assert.eq(server.kill(), -9);
server.restart({faults: undefined});
const again = server.getDB('test').c;
assert.eq(again.countDocuments({}), kept - 1);
assert.eq(again.validate({full: true}).valid, true);
again.insertOne({_id: 0, pad}, {writeConcern: {w: 1, j: true}});
assert.eq(FreshetRunner.stopServer(server), 0);

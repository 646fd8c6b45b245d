// SPDX-License-Identifier: Apache-2.0
// Messages packed by each of the compressors arrive as they were, both ways.
load('jstests/libs/connections.js');
Random.setRandomSeed(7);
const noise = Array.from({length: 20000}, () => String.fromCharCode(33 + Random.randInt(90))).join('');
for (const name of ['snappy', 'zstd', 'zlib']) {
    const other = connection('compressors=' + name);
    const {c} = other.getDB(db.getName());
    c.insertMany([{_id: name + 1, s: bytesOf(500000)}, {_id: name + 2, s: noise}, {_id: name + 3}]);
    assert.eq(c.findOne({_id: name + 1}).s.length, 500000);
    assert.eq(c.findOne({_id: name + 2}).s, noise);
    other.close();
}
assert.eq(db.c.countDocuments({}), 9);

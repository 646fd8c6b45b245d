// SPDX-License-Identifier: Apache-2.0
// A document of 16 KiB or more is sent from where it is stored: whole, small ones beside it, and over RDMA without a copy.
const text = 'x'.repeat(64 * 1024);
const documents = [{_id: 0, n: 'small'}, {_id: 1, text: text}, {_id: 2, n: 'small'}, {_id: 3, text: text + 'y'}];
assert.commandWorked(db.c.insertMany(documents));
const sentInPlace = () => Number((db.serverStatus().rdma || {}).bytesSentInPlace || 0);
const before = sentInPlace();
for (let round = 0; round < 5; round++) {
    assert.eq(db.c.findOne({_id: 1}), documents[1]);
    assert.eq(db.c.find().sort({_id: 1}).hint({_id: 1}).toArray(), documents);
}
const sent = sentInPlace() - before;
if (typeof TestData !== 'undefined' && TestData.transport === 'rdma') {
    assert.gte(sent, 15 * text.length);
} else {
    assert.eq(sent, 0);
}

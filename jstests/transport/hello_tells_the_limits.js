// SPDX-License-Identifier: Apache-2.0
// What drivers go by.
const hello = db.hello();
assert.eq([hello.maxBsonObjectSize, hello.maxMessageSizeBytes, hello.maxWriteBatchSize], [16777216, 48000000, 100000]);
assert.eq([hello.minWireVersion, hello.maxWireVersion, hello.readOnly], [0, 25, false]);
assert.gt(hello.connectionId, 0);

// SPDX-License-Identifier: Apache-2.0
// A server that packs nothing serves clients that would.
const server = FreshetRunner.runServer({networkMessageCompressors: 'disabled'});
const {c} = new Mongo(server.uri + '?compressors=zstd,snappy').getDB('test');
c.insertOne({_id: 1, s: 'x'.repeat(100000)});
assert.eq(c.findOne().s.length, 100000);
FreshetRunner.stopServer(server);

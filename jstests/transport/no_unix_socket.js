// SPDX-License-Identifier: Apache-2.0
// --nounixsocket leaves TCP only.
const prefix = getEnv('TMPDIR');
const server = FreshetRunner.runServer({unixSocketPrefix: prefix, nounixsocket: ''});
assert(!fileExists(`${prefix}/mongodb-${server.port}.sock`));
assert.throws(() => new Mongo(`mongodb://${encodeURIComponent(`${prefix}/mongodb-${server.port}.sock`)}/`));
FreshetRunner.stopServer(server);

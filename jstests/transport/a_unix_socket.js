// SPDX-License-Identifier: Apache-2.0
// The server listens on a socket in the file system, and takes it away when it ends.
const prefix = getEnv('TMPDIR');
const server = FreshetRunner.runServer({unixSocketPrefix: prefix, filePermissions: '0700'});
const path = `${prefix}/mongodb-${server.port}.sock`;
const other = new Mongo(`mongodb://${encodeURIComponent(path)}/test`);
other.getDB('test').c.insertOne({_id: 1, s: 'x'.repeat(1000000)});
assert.eq(other.getDB('test').c.findOne().s.length, 1000000);
assert(fileExists(path));
assert.eq(server.stop(), 0);
assert(!fileExists(path));
server.remove();

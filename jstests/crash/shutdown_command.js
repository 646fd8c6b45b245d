// SPDX-License-Identifier: Apache-2.0
// shutdownServer() ends the server.
const server = FreshetRunner.runServer();
server.getDB('admin').shutdownServer();
assert.soon(() => runProgram('sh', '-c', `kill -0 ${server.pid} 2>/dev/null && grep -q Z /proc/${server.pid}/stat || ! kill -0 ${server.pid}`) === 0);
FreshetRunner.stopServer(server);

// SPDX-License-Identifier: Apache-2.0
// A server listens on ::1 as on 127.0.0.1.
if (!cat('/proc/net/if_inet6').includes('00000000000000000000000000000001')) {
    quitSkipped('this machine has no ::1');
}
const server = FreshetRunner.runServer({bind_ip: '127.0.0.1,::1', ipv6: ''});
const other = new Mongo(`mongodb://[::1]:${server.port}/test`);
assert.eq(other.adminCommand({ping: 1}).ok, 1);
FreshetRunner.stopServer(server);

// SPDX-License-Identifier: Apache-2.0
// localhost is a host; one that is not there is told by name.
const port = db.getMongo().host.split(':').pop();
if (!/^\d+$/.test(port)) {
    quitSkipped('this suite speaks through a Unix socket');
}
assert.eq(new Mongo(`mongodb://localhost:${port}/`).adminCommand({ping: 1}).ok, 1);
const error = assert.throws(() => new Mongo('mongodb://no-such-host.invalid:1/'));
assert.eq(error.name, 'MongoNetworkError');
assert.includes(error.message, 'no-such-host.invalid:1');

// SPDX-License-Identifier: Apache-2.0
// Of several hosts the first that may be written to is taken; the name of a set is that of no server without one.
const port = db.getMongo().host.split(':').pop();
if (!/^\d+$/.test(port)) {
    quitSkipped('this suite speaks through a Unix socket');
}
const dead = allocatePort();
for (const hosts of [`127.0.0.1:${dead},127.0.0.1:${port}`, `127.0.0.1:${port},127.0.0.1:${dead}`, `127.0.0.1:${port}`]) {
    const mongo = new Mongo(`mongodb://${hosts}/shop?replicaSet=rs0&retryWrites=true`);
    assert.eq(mongo.adminCommand({ping: 1}).ok, 1, hosts);
    assert.eq(connect(`mongodb://${hosts}/shop`).getName(), 'shop');
}
const error = assert.throws(() => new Mongo(`mongodb://127.0.0.1:${dead},localhost:${dead}/`));
assert.eq(error.name, 'MongoNetworkError');
assert.includes(error.message, `127.0.0.1:${dead},localhost:${dead}`);

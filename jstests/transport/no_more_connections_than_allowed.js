// SPDX-License-Identifier: Apache-2.0
// Beyond --maxConns nobody gets in until somebody leaves; those who are in go on.
const server = FreshetRunner.runServer({maxConns: 6});
const others = [];
const error = assert.throws(() => {
    for (;;) {
        others.push(new Mongo(server.uri));
        assert.lte(others.length, 6);
    }
});
assert.eq(error.name, 'MongoNetworkError');
assert.gte(others.length, 4);
others.forEach((other) => assert.eq(other.adminCommand({ping: 1}).ok, 1));
others.pop().close();
assert.soonNoExcept(() => new Mongo(server.uri).adminCommand({ping: 1}).ok === 1);
FreshetRunner.stopServer(server);

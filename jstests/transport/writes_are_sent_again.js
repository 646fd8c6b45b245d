// SPDX-License-Identifier: Apache-2.0
// The server of a set breaks the connection instead of answering: a write is sent once more, and done once.
const server = FreshetRunner.runServer({replSet: 'rs0', setParameter: {enableTestCommands: 1}});
const breakNext = (connection, command) => assert.commandWorked(connection.adminCommand({
    configureFailPoint: 'failCommand', mode: {times: 1}, data: {failCommands: [command], closeConnection: true}}));
const retrying = new Mongo(server.uri);
const c = retrying.getDB('test').c;
breakNext(retrying, 'insert');
c.insertOne({_id: 1, n: 0});
breakNext(retrying, 'findAndModify');
assert.eq(c.findOneAndUpdate({_id: 1}, {$inc: {n: 1}}, {returnDocument: 'after'}), {_id: 1, n: 1});
breakNext(retrying, 'update');
assert.eq(c.updateOne({_id: 1}, {$inc: {n: 1}}).modifiedCount, 1);
assert.eq(c.findOne(), {_id: 1, n: 2});

// Not what may touch many documents, and nothing at all when told not to.
breakNext(retrying, 'update');
assert.throws(() => c.updateMany({}, {$inc: {n: 1}}));
const plain = new Mongo(`mongodb://127.0.0.1:${server.port}/?retryWrites=false`);
breakNext(plain, 'insert');
assert.throws(() => plain.getDB('test').c.insertOne({_id: 2}));
FreshetRunner.stopServer(server);

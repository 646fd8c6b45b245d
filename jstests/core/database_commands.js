// SPDX-License-Identifier: Apache-2.0
// runCommand() with a text, a document, and a failure.
assert.eq(db.runCommand('ping').ok, 1);
const {$clusterTime, operationTime, ...rest} = db.runCommand({ping: 1});
assert.eq(rest, {ok: 1});
assert.eq(db.adminCommand('ping').ok, 1);
const error = assert.throwsWithCode(() => db.runCommand({nosuch: 1}), 59);
assert.eq(error.name, 'MongoServerError');
assert.eq(error.codeName, 'CommandNotFound');
assert.eq(db.tryCommand({nosuch: 1}).ok, 0);
assert.commandFailedWithCode(db.tryCommand({nosuch: 1}), 'CommandNotFound');

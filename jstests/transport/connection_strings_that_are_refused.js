// SPDX-License-Identifier: Apache-2.0
// What would connect otherwise than asked is an error; options that only tune are not.
for (const uri of ['mongodb://', 'mongodb://h/?compressors=lzma', 'mongodb://a,/', 'http://h/', 'mongodb://h:99999/', 'mongodb://h/?authMechanism=FROB']) {
    assert.throws(() => new Mongo(uri), [], uri);
}
load('jstests/libs/connections.js');
assert.eq(connection('maxPoolSize=5&retryWrites=false&serverSelectionTimeoutMS=2000&w=majority').adminCommand({ping: 1}).ok, 1);

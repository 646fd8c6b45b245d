// SPDX-License-Identifier: Apache-2.0
// A port where nobody listens is told with the place.
const port = allocatePort();
const error = assert.throws(() => new Mongo(`mongodb://127.0.0.1:${port}/`));
assert.eq(error.name, 'MongoNetworkError');
assert.includes(error.message, '127.0.0.1:' + port);

// SPDX-License-Identifier: Apache-2.0
// An error of the server has its number, its name and the reply.
const error = assert.throws(() => db.runCommand({find: 'c', frob: 1}));
assert.eq([error.name, error.code, error.codeName], ['MongoServerError', 40415, 'Location40415']);
assert.includes(error.message, "'find.frob'");
assert.eq(error.errorResponse.ok, 0);
assert(error instanceof MongoServerError && error instanceof Error);

// SPDX-License-Identifier: Apache-2.0
// A duplicate key error tells the index and the key.
db.c.createIndex({email: 1}, {unique: true});
db.c.insertOne({email: 'a@b'});
const error = assert.throwsWithCode(() => db.c.insertOne({email: 'a@b'}), 11000);
assert.eq(error.keyPattern, {email: 1});
assert.eq(error.keyValue, {email: 'a@b'});
assert(error.message.includes('email_1'), error.message);

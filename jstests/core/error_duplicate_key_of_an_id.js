// SPDX-License-Identifier: Apache-2.0
// A second document of one _id: 11000, with the key.
db.c.insertOne({_id: {a: 1}});
const error = assert.throwsWithCode(() => db.c.insertOne({_id: {a: 1}}), 11000);
assert.includes(error.message, 'E11000 duplicate key error collection: ' + db.c.getFullName());
assert.eq([error.keyPattern, error.keyValue], [{_id: 1}, {_id: {a: 1}}]);

// SPDX-License-Identifier: Apache-2.0
// A validator refuses documents, and tells why.
db.createCollection('c', {validator: {$jsonSchema: {required: ['name'], properties: {age: {bsonType: 'int', minimum: 0}}}}});
db.c.insertOne({name: 'a', age: 5});
const error = assert.throwsWithCode(() => db.c.insertOne({age: -1}), 121);
assert(error.errInfo !== undefined);
db.c.insertOne({}, {bypassDocumentValidation: true});

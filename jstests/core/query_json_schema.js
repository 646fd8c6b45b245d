// SPDX-License-Identifier: Apache-2.0
// $jsonSchema finds the documents that fit a schema.
db.c.insertMany([{_id: 1, name: 'ann', age: 30}, {_id: 2, name: 5, age: 30}, {_id: 3, age: 12}]);
const schema = {required: ['name'], properties: {name: {bsonType: 'string', minLength: 2}, age: {bsonType: 'number', minimum: 18}}};
assert.eq(db.c.find({$jsonSchema: schema}).map((row) => row._id).toArray(), [1]);
assert.eq(db.c.find({$nor: [{$jsonSchema: schema}]}).sort({_id: 1}).map((row) => row._id).toArray(), [2, 3]);

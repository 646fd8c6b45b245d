// SPDX-License-Identifier: Apache-2.0
// A refused document comes with what is wrong about it.
db.createCollection('c', {validator: {$jsonSchema: {required: ['name'], properties: {age: {minimum: 0}}}}});
const error = assert.throwsWithCode(() => db.c.insertOne({_id: 1, age: -1}), 121);
assert.includes(error.message, 'Document failed validation');
const rules = error.errInfo.details.schemaRulesNotSatisfied.map((rule) => rule.operatorName);
assert.sameMembers(rules, ['required', 'properties']);

// SPDX-License-Identifier: Apache-2.0
// What may not be a collection is not made by accident either, and a document has one _id.
const refused = (code, command) => assert.commandFailedWithCode(db.tryCommand(command), code);

for (const [name, code] of [['system.foo', 73], ['x.system.y', 2]]) {
  refused(code, {create: name});
  refused(code, {insert: name, documents: [{}]});
  refused(code, {update: name, updates: [{q: {}, u: {a: 1}, upsert: true}]});
  refused(code, {findAndModify: name, update: {a: 1}, upsert: true});
  refused(code, {createIndexes: name, indexes: [{key: {a: 1}, name: 'a_1'}]});
  refused(code, {aggregate: 'c', pipeline: [{$out: name}], cursor: {}});
  refused(code, {aggregate: 'c', pipeline: [{$merge: name}], cursor: {}});
}
refused(73, {insert: 'x'.repeat(300), documents: [{}]});
refused(53, {insert: 'c', documents: [{_id: [1]}]});
assert.eq(db.getCollectionNames(), []);

// Twice the same index, and more than there may be.
const index = {key: {a: 1}, name: 'a_1'};
refused(68, {createIndexes: 'c', indexes: [index, index]});
const many = [];
for (let i = 0; i < 10000; ++i) {
  many.push({key: {['f' + i]: 1}, name: 'f' + i});
}
refused(67, {createIndexes: 'c', indexes: many});
assert.eq(db.getCollectionNames(), []);

// SPDX-License-Identifier: Apache-2.0
// An $or of equalities on one field, and an $in of any length, are one sorted probe of the index.
const documents = [];
for (let i = 0; i < 100; ++i) {
  documents.push({_id: i, a: [i, i + 1]});
}
db.c.insertMany(documents);
db.c.createIndex({a: 1});

const values = [];
for (let i = 20000; i >= 0; --i) {
  values.push(i, i);
}
const planOf = (filter) => db.c.find(filter).explain().queryPlanner.winningPlan;

for (const filter of [{_id: {$in: values}}, {$or: values.map((value) => ({_id: value}))}]) {
  assert.eq(planOf(filter).inputStage.indexName, '_id_');
  assert.eq(db.c.find(filter).toArray().map((document) => document._id), documents.map((d) => d._id));
  assert.eq(db.c.countDocuments(filter), 100);
  const stats = db.c.find(filter).explain('executionStats').executionStats;
  assert.eq(Number(stats.totalDocsExamined), 100);
  assert.lte(Number(stats.totalKeysExamined), 101);
}
// Each document once, though two of its elements are asked for.
for (const filter of [{a: {$in: values}}, {$or: values.map((value) => ({a: value}))}]) {
  assert.eq(planOf(filter).inputStage.indexName, 'a_1');
  assert.eq(db.c.find(filter).itcount(), 100);
  assert.eq(db.c.countDocuments(filter), 100);
}
assert.eq(planOf({$or: [{_id: 1}, {a: 1}, {_id: 2}, {a: 2}]}).inputStage.stage, 'OR');

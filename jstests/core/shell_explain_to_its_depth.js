// SPDX-License-Identifier: Apache-2.0
// A plan is shown to its last level, however deep; its numbers are int32.
const plan = db.c.explain('executionStats').aggregate([{$match: {a: {$in: [1, {b: {c: {d: {e: {f: {g: 1}}}}}}]}}}, {$group: {_id: '$a'}}]);
assert.eq(plan.executionStats.nReturned, 0);
db.c.insertOne({a: 1});
const stats = db.c.find({a: 1}).explain('executionStats').executionStats;
for (const name of ['nReturned', 'executionTimeMillis', 'totalDocsExamined']) {
    assert.eq(typeof stats[name], 'number', name);
}

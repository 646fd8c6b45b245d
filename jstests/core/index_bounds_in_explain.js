// SPDX-License-Identifier: Apache-2.0
// explain shows which part of an index is read.
db.c.createIndex({a: 1});
db.c.insertOne({a: 1});
const visit = (node) => node !== null && typeof node === 'object' ? node.indexBounds || Object.values(node).map(visit).find((x) => x) : undefined;
assert.eq(visit(db.c.find({a: {$gt: 5, $lte: 9}}).explain().queryPlanner.winningPlan), {a: ['(5, 9]']});
assert.eq(visit(db.c.find({a: {$in: [3, 1]}}).explain().queryPlanner.winningPlan), {a: ['[1, 1]', '[3, 3]']});

// SPDX-License-Identifier: Apache-2.0
// A hidden index is not used.
db.c.createIndex({a: 1});
db.c.insertOne({a: 1});
const plan = () => JSON.stringify(db.c.find({a: 1}).explain().queryPlanner.winningPlan);
assert(plan().includes('IXSCAN'));
db.c.hideIndex('a_1');
assert(plan().includes('COLLSCAN'));
db.c.unhideIndex({a: 1});
assert(plan().includes('IXSCAN'));

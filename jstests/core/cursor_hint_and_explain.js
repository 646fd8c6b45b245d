// SPDX-License-Identifier: Apache-2.0
// hint() decides the plan, explain() tells it.
db.c.createIndex({a: 1});
db.c.insertMany([{a: 1}, {a: 2}]);
const stages = (plan) => JSON.stringify(plan.queryPlanner.winningPlan);
assert(stages(db.c.find({a: 1}).explain()).includes('IXSCAN'));
assert(stages(db.c.find({a: 1}).hint({$natural: 1}).explain()).includes('COLLSCAN'));
assert(stages(db.c.explain().find({a: 1}).finish()).includes('IXSCAN'));
assert.eq(db.c.find({a: 1}).explain('executionStats').executionStats.nReturned, 1);
assert.throwsWithCode(() => db.c.find().hint('none_1').toArray(), 2);

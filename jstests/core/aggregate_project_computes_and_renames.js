// SPDX-License-Identifier: Apache-2.0
// $project takes, computes, renames and leaves out.
db.c.insertOne({_id: 1, a: 2, b: {c: 3, d: 4}});
const one = (project) => db.c.aggregate([{$project: project}]).toArray()[0];
assert.eq(one({_id: 0, double: {$multiply: ['$a', 2]}, c: '$b.c'}), {double: 4, c: 3});
assert.eq(one({'b.d': 0}), {_id: 1, a: 2, b: {c: 3}});
assert.eq(one({b: {c: 1}}), {_id: 1, b: {c: 3}});
assert.eq(one({list: ['$a', '$b.d', '$none']}), {_id: 1, list: [2, 4, null]});
assert.throwsWithCode(() => one({a: 1, b: 0}), 31254);

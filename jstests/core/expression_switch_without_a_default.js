// SPDX-License-Identifier: Apache-2.0
// $switch takes the first branch that holds, and fails when none does.
load('jstests/libs/computed.js');
const grade = (n, rest) => computed({$switch: {branches: [{case: {$gte: ['$n', 90]}, then: 'A'}, {case: {$gte: ['$n', 50]}, then: 'B'}], ...rest}}, {n});
assert.eq([95, 60].map((n) => grade(n)), ['A', 'B']);
assert.eq(grade(10, {default: 'C'}), 'C');
assert.throwsWithCode(() => grade(10), 40066);

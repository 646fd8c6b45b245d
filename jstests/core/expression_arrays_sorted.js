// SPDX-License-Identifier: Apache-2.0
// $sortArray by value and by field.
load('jstests/libs/computed.js');
assert.eq(computed({$sortArray: {input: [3, 1, 2], sortBy: -1}}), [3, 2, 1]);
assert.eq(computed({$sortArray: {input: '$t', sortBy: {n: 1}}}, {t: [{n: 2}, {n: 1}]}), [{n: 1}, {n: 2}]);
assert.eq(computed({$firstN: {input: {$sortArray: {input: [5, 9, 7], sortBy: -1}}, n: 2}}), [9, 7]);

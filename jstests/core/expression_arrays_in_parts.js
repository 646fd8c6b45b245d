// SPDX-License-Identifier: Apache-2.0
// $slice, $first, $last, $arrayElemAt and $size.
load('jstests/libs/computed.js');
const t = [10, 20, 30, 40];
assert.eq(computed({$slice: ['$t', 2]}, {t}), [10, 20]);
assert.eq(computed({$slice: ['$t', -2]}, {t}), [30, 40]);
assert.eq(computed({$slice: ['$t', 1, 2]}, {t}), [20, 30]);
assert.eq(computed([{$first: '$t'}, {$last: '$t'}, {$arrayElemAt: ['$t', -2]}], {t}), [10, 40, 30]);
assert.eq(computed({$arrayElemAt: ['$t', 9]}, {t}), undefined);
assert.eq(computed({$size: '$t'}, {t}), 4);
assert.throwsWithCode(() => computed({$size: '$n'}, {n: 1}), 17124);

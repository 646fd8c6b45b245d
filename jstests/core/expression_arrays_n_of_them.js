// SPDX-License-Identifier: Apache-2.0
// $firstN, $lastN, $minN and $maxN.
load('jstests/libs/computed.js');
const t = [5, 1, 4, 2];
assert.eq(computed({$firstN: {input: '$t', n: 2}}, {t}), [5, 1]);
assert.eq(computed({$lastN: {input: '$t', n: 2}}, {t}), [4, 2]);
assert.eq(computed({$minN: {input: '$t', n: 2}}, {t}), [1, 2]);
assert.eq(computed({$maxN: {input: '$t', n: 2}}, {t}), [5, 4]);

// SPDX-License-Identifier: Apache-2.0
// $concatArrays, $zip, $reverseArray and $indexOfArray.
load('jstests/libs/computed.js');
assert.eq(computed({$concatArrays: [[1], [2, 3], []]}), [1, 2, 3]);
assert.eq(computed({$zip: {inputs: [[1, 2], ['a', 'b']]}}), [[1, 'a'], [2, 'b']]);
assert.eq(computed({$zip: {inputs: [[1], ['a', 'b']], useLongestLength: true, defaults: [0, '-']}}), [[1, 'a'], [0, 'b']]);
assert.eq(computed({$reverseArray: [[1, 2, 3]]}), [3, 2, 1]);
assert.eq(computed({$indexOfArray: [['a', 'b', 'a'], 'a', 1]}), 2);

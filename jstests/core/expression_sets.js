// SPDX-License-Identifier: Apache-2.0
// Sets know no order and no doubles.
load('jstests/libs/computed.js');
assert.eq(computed({$setEquals: [[1, 2, 2], [2, 1]]}), true);
assert.sameMembers(computed({$setUnion: [[1, 2], [2, 3]]}), [1, 2, 3]);
assert.sameMembers(computed({$setIntersection: [[1, 2, 3], [3, 2, 9]]}), [2, 3]);
assert.sameMembers(computed({$setDifference: [[1, 2, 3], [2]]}), [1, 3]);
assert.eq(computed({$setIsSubset: [[1], [1, 2]]}), true);
assert.eq([computed({$allElementsTrue: [[1, true]]}), computed({$anyElementTrue: [[0, false]]})], [true, false]);

// SPDX-License-Identifier: Apache-2.0
// $range counts up or down.
load('jstests/libs/computed.js');
assert.eq(computed({$range: [0, 4]}), [0, 1, 2, 3]);
assert.eq(computed({$range: [10, 0, -4]}), [10, 6, 2]);
assert.eq(computed({$range: [3, 3]}), []);
assert.throwsWithCode(() => computed({$range: [0, 3, 0]}), 34449);

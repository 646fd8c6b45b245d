// SPDX-License-Identifier: Apache-2.0
// $round goes to the even neighbour, $trunc towards zero, $floor and $ceil down and up.
load('jstests/libs/computed.js');
assert.eq([0.5, 1.5, 2.5, -0.5].map((n) => computed({$round: [n]}) + 0), [0, 2, 2, 0]);
assert.eq(computed({$round: [1234.567, 1]}), 1234.6);
assert.eq(computed({$round: [1250, -2]}), 1200);
assert.eq(computed({$trunc: [-1.9]}), -1);
assert.eq(computed({$floor: -1.1}), -2);
assert.eq(computed({$ceil: 1.1}), 2);

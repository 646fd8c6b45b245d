// SPDX-License-Identifier: Apache-2.0
// Angles are radians; degrees can be turned into them.
load('jstests/libs/computed.js');
assert.close(computed({$sin: {$degreesToRadians: 30}}), 0.5);
assert.close(computed({$cos: {$degreesToRadians: 60}}), 0.5);
assert.close(computed({$radiansToDegrees: {$atan2: [1, 1]}}), 45);
assert.throwsWithCode(() => computed({$asin: 2}), 50989);

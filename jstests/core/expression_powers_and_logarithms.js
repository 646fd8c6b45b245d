// SPDX-License-Identifier: Apache-2.0
// $pow, $sqrt, $exp, $ln, $log and $log10.
load('jstests/libs/computed.js');
assert.eq(computed({$pow: [2, 10]}), 1024);
assert.eq(computed({$sqrt: 81}), 9);
assert.eq(computed({$log10: 1000}), 3);
assert.eq(computed({$log: [8, 2]}), 3);
assert.close(computed({$ln: {$exp: 2}}), 2);
assert.throwsWithCode(() => computed({$sqrt: -1}), 28714);

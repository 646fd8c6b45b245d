// SPDX-License-Identifier: Apache-2.0
// $tsSecond and $tsIncrement take a timestamp apart.
load('jstests/libs/computed.js');
assert.eq(computed([{$tsSecond: '$t'}, {$tsIncrement: '$t'}], {t: Timestamp(100, 7)}), [100, 7]);

// SPDX-License-Identifier: Apache-2.0
// $filter stops after so many.
load('jstests/libs/computed.js');
assert.eq(computed({$filter: {input: {$range: [0, 100]}, as: 'n', cond: {$eq: [{$mod: ['$$n', 7]}, 0]}, limit: 3}}), [0, 7, 14]);

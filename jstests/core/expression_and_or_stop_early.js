// SPDX-License-Identifier: Apache-2.0
// The rest of $and and $or is not asked once the answer is certain.
load('jstests/libs/computed.js');
assert.eq(computed({$and: [{$eq: ['$a', 2]}, {$gt: [{$divide: [1, '$zero']}, 1]}]}, {a: 1, zero: 0}), false);
assert.eq(computed({$or: [{$eq: ['$a', 1]}, {$gt: [{$divide: [1, '$zero']}, 1]}]}, {a: 1, zero: 0}), true);
assert.eq(computed({$cond: [{$eq: ['$a', 1]}, 'yes', {$divide: [1, '$zero']}]}, {a: 1, zero: 0}), 'yes');

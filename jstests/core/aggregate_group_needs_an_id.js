// SPDX-License-Identifier: Apache-2.0
// A group without a key is refused.
assert.throwsWithCode(() => db.c.aggregate([{$group: {n: {$sum: 1}}}]), 15955);
assert.throwsWithCode(() => db.c.aggregate([{$group: {_id: null, n: 5}}]), 40234);
assert.throwsWithCode(() => db.c.aggregate([{$group: {_id: null, n: {$frob: 5}}}]), 15952);

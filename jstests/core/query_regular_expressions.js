// SPDX-License-Identifier: Apache-2.0
// Patterns with options, in $in, and against lists.
db.c.insertMany([{_id: 1, s: 'Apple pie'}, {_id: 2, s: 'pineapple'}, {_id: 3, s: ['x', 'apple']}, {_id: 4, s: 'line\napple'}]);
const ids = (filter) => db.c.find(filter).sort({_id: 1}).toArray().map((row) => row._id);
assert.eq(ids({s: /^apple/}), [3]);
assert.eq(ids({s: /^apple/im}), [1, 3, 4]);
assert.eq(ids({s: {$regex: 'APPLE$', $options: 'i'}}), [2, 3, 4]);
assert.eq(ids({s: {$in: [/^pine/, 'Apple pie']}}), [1, 2]);
assert.eq(ids({s: {$not: /apple/}}), [1]);
assert.throwsWithCode(() => ids({s: {$regex: '('}}), 51091);

// SPDX-License-Identifier: Apache-2.0
// A list of ten thousand values in $in.
db.c.insertMany(Array.from({length: 1000}, (_, _id) => ({_id, n: _id})));
const wanted = Array.from({length: 10000}, (_, at) => at * 3);
assert.eq(db.c.countDocuments({_id: {$in: wanted}}), 334);
assert.eq(db.c.countDocuments({n: {$nin: wanted}}), 666);

// SPDX-License-Identifier: Apache-2.0
// count() minds neither skip nor limit, size() both.
db.c.insertMany(Array.from({length: 10}, (_, _id) => ({_id})));
const cursor = db.c.find({_id: {$gte: 2}}).skip(1).limit(3);
assert.eq([Number(cursor.count()), Number(cursor.size()), cursor.itcount()], [8, 3, 3]);

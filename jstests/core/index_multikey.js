// SPDX-License-Identifier: Apache-2.0
// An index of an array has an entry for each element.
db.c.createIndex({t: 1});
db.c.insertMany([{_id: 1, t: ['a', 'b']}, {_id: 2, t: ['b', 'c']}]);
assert.eq(db.c.find({t: 'b'}).hint({t: 1}).itcount(), 2);
assert.eq(db.c.find({t: {$gte: 'a'}}).hint({t: 1}).itcount(), 2);

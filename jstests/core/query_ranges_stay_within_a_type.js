// SPDX-License-Identifier: Apache-2.0
// A comparison finds values of its own type only.
db.c.insertMany([{_id: 1, v: 5}, {_id: 2, v: '5'}, {_id: 3, v: ISODate('2024-01-01T00:00:00Z')}, {_id: 4, v: null}, {_id: 5, v: true}, {_id: 6, v: NumberDecimal('5.5')}]);
const ids = (filter) => db.c.find(filter).sort({_id: 1}).toArray().map((row) => row._id);
assert.eq(ids({v: {$gt: 1}}), [1, 6]);
assert.eq(ids({v: {$gte: ''}}), [2]);
assert.eq(ids({v: {$gt: ISODate('1970-01-01T00:00:00Z')}}), [3]);
assert.eq(ids({v: {$gt: MinKey()}}), [1, 2, 3, 4, 5, 6]);

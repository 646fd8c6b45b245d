// SPDX-License-Identifier: Apache-2.0
// $size, $all, dotted places and whole lists.
db.c.insertMany([{_id: 1, t: ['a', 'b']}, {_id: 2, t: ['b', 'a', 'c']}, {_id: 3, t: []}, {_id: 4, t: [['a', 'b']]}]);
const ids = (filter) => db.c.find(filter).sort({_id: 1}).toArray().map((row) => row._id);
assert.eq(ids({t: {$size: 2}}), [1]);
assert.eq(ids({t: {$all: ['a', 'b']}}), [1, 2]);
assert.eq(ids({'t.0': 'b'}), [2]);
assert.eq(ids({t: ['a', 'b']}), [1, 4]);
assert.eq(ids({t: []}), [3]);

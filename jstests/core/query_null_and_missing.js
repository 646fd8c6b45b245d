// SPDX-License-Identifier: Apache-2.0
// null finds what is null and what is missing; $exists and $type tell them apart.
db.c.insertMany([{_id: 1, a: null}, {_id: 2}, {_id: 3, a: 0}, {_id: 4, a: [null]}]);
const ids = (filter) => db.c.find(filter).sort({_id: 1}).toArray().map((row) => row._id);
assert.eq(ids({a: null}), [1, 2, 4]);
assert.eq(ids({a: {$exists: false}}), [2]);
assert.eq(ids({a: {$type: 'null'}}), [1, 4]);
assert.eq(ids({a: {$ne: null}}), [3]);
assert.eq(ids({a: {$in: [null, 0]}}), [1, 2, 3, 4]);

// SPDX-License-Identifier: Apache-2.0
// An object in a filter means that object, its fields in their order; dotted names look inside.
db.c.insertMany([{_id: 1, o: {a: 1, b: 2}}, {_id: 2, o: {b: 2, a: 1}}, {_id: 3, o: {a: 1, b: 2, c: 3}}]);
const ids = (filter) => db.c.find(filter).sort({_id: 1}).toArray().map((row) => row._id);
assert.eq(ids({o: {a: 1, b: 2}}), [1]);
assert.eq(ids({'o.a': 1, 'o.b': 2}), [1, 2, 3]);
assert.eq(ids({o: {$gt: {a: 1, b: 2}}}), [2, 3]);

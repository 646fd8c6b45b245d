// SPDX-License-Identifier: Apache-2.0
// Four documents in db.c for tests of queries; ids(filter): those that it finds, by their _id.
db.c.insertMany([
    {_id: 1, n: 1, s: 'apple', t: ['x', 'y'], o: {a: 1}},
    {_id: 2, n: 5, s: 'Banana', t: ['y'], o: {a: 2}},
    {_id: 3, n: 10, s: 'cherry', t: [], o: {a: 3, b: 1}},
    {_id: 4, s: null},
]);
globalThis.ids = (filter) => db.c.find(filter).sort({_id: 1}).toArray().map((document) => document._id);

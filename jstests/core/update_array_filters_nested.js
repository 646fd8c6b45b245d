// SPDX-License-Identifier: Apache-2.0
// Array filters choose at several depths at once.
db.c.insertOne({_id: 1, rows: [{k: 'a', cells: [1, 20, 3]}, {k: 'b', cells: [40, 5]}]});
db.c.updateOne({_id: 1}, {$set: {'rows.$[r].cells.$[c]': 0}}, {arrayFilters: [{'r.k': {$in: ['a', 'b']}}, {c: {$gte: 10}}]});
assert.eq(db.c.findOne().rows, [{k: 'a', cells: [1, 0, 3]}, {k: 'b', cells: [0, 5]}]);
db.c.updateOne({_id: 1}, {$inc: {'rows.$[].cells.$[c]': 1}}, {arrayFilters: [{c: 0}]});
assert.eq(db.c.findOne().rows.map((row) => row.cells), [[1, 1, 3], [1, 5]]);

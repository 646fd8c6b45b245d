// SPDX-License-Identifier: Apache-2.0
// The cursor of an aggregation has explain(), as that of a find.
db.c.insertMany([{_id: 1, a: 1}, {_id: 2, a: 2}]);
const cursor = db.c.aggregate([{$match: {a: 1}}]);
assert.eq(cursor.explain().ok, 1);
assert.eq(cursor.toArray(), [{_id: 1, a: 1}]);
assert(JSON.stringify(cursor.explain('executionStats')).includes('executionStats'));

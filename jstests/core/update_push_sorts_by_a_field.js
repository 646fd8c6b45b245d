// SPDX-License-Identifier: Apache-2.0
// $push keeps a list of objects ordered and short.
db.c.insertOne({_id: 1, best: [{s: 5}, {s: 9}]});
db.c.updateOne({_id: 1}, {$push: {best: {$each: [{s: 7}, {s: 1}], $sort: {s: -1}, $slice: 3}}});
assert.eq(db.c.findOne().best.map((each) => each.s), [9, 7, 5]);
db.c.updateOne({_id: 1}, {$push: {best: {$each: [], $slice: -1}}});
assert.eq(db.c.findOne().best, [{s: 5}]);

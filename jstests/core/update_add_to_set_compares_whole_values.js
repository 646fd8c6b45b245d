// SPDX-License-Identifier: Apache-2.0
// $addToSet of objects minds the order of fields; $each adds several.
db.c.insertOne({_id: 1, t: [{a: 1, b: 2}]});
db.c.updateOne({_id: 1}, {$addToSet: {t: {$each: [{a: 1, b: 2}, {b: 2, a: 1}, 5, 5]}}});
assert.eq(db.c.findOne().t.length, 3);

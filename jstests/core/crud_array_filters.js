// SPDX-License-Identifier: Apache-2.0
// arrayFilters choose elements.
db.c.insertOne({_id: 1, grades: [80, 95, 110]});
db.c.updateOne({_id: 1}, {$set: {'grades.$[high]': 100}}, {arrayFilters: [{high: {$gte: 100}}]});
assert.eq(db.c.findOne().grades, [80, 95, 100]);

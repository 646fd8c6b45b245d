// SPDX-License-Identifier: Apache-2.0
// An update may be a pipeline.
db.c.insertOne({_id: 1, a: 2, b: 3});
db.c.updateOne({_id: 1}, [{$set: {sum: {$add: ['$a', '$b']}}}, {$unset: 'a'}]);
assert.eq(db.c.findOne(), {_id: 1, b: 3, sum: 5});

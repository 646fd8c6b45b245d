// SPDX-License-Identifier: Apache-2.0
// $ without a list in the filter is error 2.
db.c.insertOne({_id: 1, t: [1, 2]});
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$set: {'t.$': 9}}), 2);
assert.eq(db.c.findOne().t, [1, 2]);

// SPDX-License-Identifier: Apache-2.0
// A projection of find may compute.
db.c.insertOne({_id: 1, a: 2, b: 5});
assert.eq(db.c.findOne({}, {_id: 0, a: 1, sum: {$add: ['$a', '$b']}, text: {$literal: 'x'}}), {a: 2, sum: 7, text: 'x'});

// SPDX-License-Identifier: Apache-2.0
// Two paths of which one contains the other; including and excluding.
db.c.insertOne({_id: 1});
assert.throwsWithCode(() => db.c.findOne({}, {a: 1, 'a.b': 1}), 31249);
assert.throwsWithCode(() => db.c.findOne({}, {a: 1, b: 0}), 31254);
assert.throwsWithCode(() => db.c.findOne({}, {a: 0, b: 1}), 31253);

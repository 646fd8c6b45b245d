// SPDX-License-Identifier: Apache-2.0
// A wrong operator is an error, not a field.
assert.throwsWithCode(() => db.c.find({a: {$bad: 1}}).toArray(), 2);
assert.throwsWithCode(() => db.c.find({$bad: 1}).toArray(), 2);
assert.throwsWithCode(() => db.c.find({a: {$in: 5}}).toArray(), 2);

// SPDX-License-Identifier: Apache-2.0
// A hundred objects within each other are stored and found; too many are refused.
const nest = (depth) => Array.from({length: depth}).reduce((inner) => ({a: inner}), 1);
db.c.insertOne({_id: 1, v: nest(100)});
assert.eq(db.c.countDocuments({['v' + '.a'.repeat(100)]: 1}), 1);
assert.throws(() => db.c.insertOne({_id: 2, v: nest(300)}));
assert.eq(db.c.countDocuments({}), 1);

// SPDX-License-Identifier: Apache-2.0
// A filter that no path uses, and a path without its filter.
db.c.insertOne({_id: 1, t: [1]});
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$set: {'t.$[x]': 1}}, {arrayFilters: [{x: 1}, {y: 1}]}), 9);
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$set: {'t.$[x]': 1}}), 2);
assert.throwsWithCode(() => db.c.updateOne({_id: 1}, {$set: {'t.$[x]': 1}}, {arrayFilters: [{x: 1}, {x: 2}]}), 9);

// SPDX-License-Identifier: Apache-2.0
// An update of one document takes the first in the order of its sort.
db.c.insertMany([{_id: 1, v: 3}, {_id: 2, v: 1}, {_id: 3, v: 2}]);
const update = statement => db.tryCommand({update: 'c', updates: [statement]});
assert.eq(update({q: {}, u: {$set: {first: true}}, sort: {v: 1}}).nModified, 1);
assert.eq(db.c.findOne({first: true})._id, 2);
assert.eq(update({q: {}, u: {replaced: true}, sort: {v: -1}}).nModified, 1);
assert.eq(db.c.findOne({replaced: true})._id, 1);
assert.commandFailedWithCode(update({q: {}, u: {$set: {a: 1}}, sort: {v: 1}, multi: true}), 9);

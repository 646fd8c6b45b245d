// SPDX-License-Identifier: Apache-2.0
// explain of a write changes nothing.
db.c.insertMany([{_id: 1}, {_id: 2}]);
db.c.explain('executionStats').update({_id: 1}, {$set: {a: 1}});
db.c.explain('executionStats').remove({});
db.c.explain().findAndModify({query: {_id: 1}, remove: true});
assert.eq(db.c.find().toArray(), [{_id: 1}, {_id: 2}]);

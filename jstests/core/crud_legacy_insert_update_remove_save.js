// SPDX-License-Identifier: Apache-2.0
// The methods before insertOne() and its like.
db.c.insert({_id: 1});
db.c.insert([{_id: 2}, {_id: 3}]);
assert.eq(db.c.count(), 3);
db.c.update({}, {$set: {a: 1}}, false, true);
assert.eq(db.c.count({a: 1}), 3);
db.c.update({_id: 4}, {$set: {a: 2}}, {upsert: true});
db.c.remove({a: 1}, true);
assert.eq(db.c.count(), 3);
db.c.save({_id: 4, b: 1});
assert.eq(db.c.findOne({_id: 4}), {_id: 4, b: 1});
db.c.remove({});
assert.eq(db.c.count(), 0);

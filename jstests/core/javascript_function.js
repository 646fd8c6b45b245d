// SPDX-License-Identifier: Apache-2.0
// $function computes fields, conditions and updates.
db.c.insertMany([{_id: 1, name: 'ada'}, {_id: 2, name: 'bob'}]);
const upper = {$function: {body: function(name) { return name.toUpperCase(); }.toString(), args: ['$name'], lang: 'js'}};
assert.eq(db.c.aggregate([{$sort: {_id: 1}}, {$project: {_id: 0, name: upper}}]).toArray(), [{name: 'ADA'}, {name: 'BOB'}]);
assert.eq(db.c.find({$expr: {$eq: [upper, 'BOB']}}).toArray().map((document) => document._id), [2]);
db.c.updateOne({_id: 1}, [{$set: {name: upper}}]);
assert.eq(db.c.findOne({_id: 1}).name, 'ADA');
assert.throwsWithCode(() => db.runCommand({aggregate: 'c', cursor: {}, pipeline: [{$project: {x: {$function: {body: '1', args: []}}}}]}), 31418);

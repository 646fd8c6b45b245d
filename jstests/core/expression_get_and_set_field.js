// SPDX-License-Identifier: Apache-2.0
// $getField, $setField and $unsetField reach names with dots and dollars.
load('jstests/libs/computed.js');
db.c.insertOne({_id: 1, a: 1});
db.c.updateOne({_id: 1}, [{$replaceWith: {$setField: {field: 'b.c', input: '$$ROOT', value: 2}}}]);
assert.eq(db.c.findOne(), {_id: 1, a: 1, 'b.c': 2});
assert.eq(db.c.aggregate([{$project: {_id: 0, v: {$getField: 'b.c'}}}]).toArray(), [{v: 2}]);
db.c.updateOne({_id: 1}, [{$replaceWith: {$unsetField: {field: {$literal: 'b.c'}, input: '$$ROOT'}}}]);
assert.eq(db.c.findOne(), {_id: 1, a: 1});

// SPDX-License-Identifier: Apache-2.0
// $$ROOT is the document, $$NOW one time for the whole command.
db.c.insertMany([{_id: 1, a: 1}, {_id: 2}]);
assert.eq(db.c.aggregate([{$match: {_id: 1}}, {$project: {_id: 0, all: '$$ROOT'}}]).toArray(), [{all: {_id: 1, a: 1}}]);
const times = db.c.aggregate([{$project: {now: '$$NOW'}}]).toArray().map((row) => row.now);
assert.eq(times[0], times[1]);
assert.lte(Math.abs(times[0] - new Date()), 60000);

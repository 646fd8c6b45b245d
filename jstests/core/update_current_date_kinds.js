// SPDX-License-Identifier: Apache-2.0
// $currentDate sets a date or a timestamp.
db.c.insertOne({_id: 1});
db.c.updateOne({_id: 1}, {$currentDate: {d: true, t: {$type: 'timestamp'}}});
assert.eq(db.c.countDocuments({d: {$type: 'date'}, t: {$type: 'timestamp'}}), 1);
assert.lte(Math.abs(db.c.findOne().d - new Date()), 60000);

// SPDX-License-Identifier: Apache-2.0
// $currentDate sets the time.
db.c.insertOne({_id: 1});
const before = new Date(Date.now() - 60000);
db.c.updateOne({_id: 1}, {$currentDate: {d: true, t: {$type: 'timestamp'}}});
const found = db.c.findOne();
assert(found.d instanceof Date && found.d > before);
assert(found.t instanceof Timestamp);

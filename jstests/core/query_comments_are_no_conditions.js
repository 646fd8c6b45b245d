// SPDX-License-Identifier: Apache-2.0
// $comment changes nothing.
db.c.insertOne({_id: 1});
assert.eq(db.c.find({$comment: 'why'}).itcount(), 1);
assert.eq(db.c.find({_id: 1}).comment('why').itcount(), 1);

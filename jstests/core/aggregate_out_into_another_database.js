// SPDX-License-Identifier: Apache-2.0
// $out writes to another database too.
const other = db.getSiblingDB(db.getName() + '_o');
db.c.insertOne({_id: 1});
db.c.aggregate([{$out: {db: other.getName(), coll: 'copy'}}]);
assert.eq(other.copy.find().toArray(), [{_id: 1}]);
other.dropDatabase();

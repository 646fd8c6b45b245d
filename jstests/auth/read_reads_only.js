// SPDX-License-Identifier: Apache-2.0
// The role read finds, counts and lists, and changes nothing.
load('jstests/libs/as_user.js');
db.c.insertOne({_id: 1});
const ann = asUser('ann', ['read']);
assert.eq([ann.c.find().toArray(), ann.c.countDocuments({}), ann.getCollectionNames()], [[{_id: 1}], 1, ['c']]);
for (const action of [() => ann.c.insertOne({}), () => ann.c.updateOne({}, {$set: {a: 1}}), () => ann.c.deleteOne({}), () => ann.c.drop(),
                      () => ann.c.createIndex({a: 1}), () => ann.c.aggregate([{$out: 'd'}]), () => ann.c.findOneAndDelete({}), () => ann.createCollection('e')]) {
    refused(action, action.toString());
}
assert.eq(db.c.find().toArray(), [{_id: 1}]);
db.dropUser('ann');

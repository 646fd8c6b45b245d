// SPDX-License-Identifier: Apache-2.0
// Levels of reading that a server of its own has, and those of a replica set; others are refused.
db.c.insertOne({_id: 1});
for (const level of ['local', 'available', 'majority']) {
    assert.eq(db.c.find().readConcern(level).toArray(), [{_id: 1}], level);
}
const linearizable = () => db.c.find().readConcern('linearizable').toArray();
if (TestData.replicaSet) {
    assert.eq(linearizable(), [{_id: 1}]);
} else {
    assert.throwsWithCode(linearizable, 123);
}
assert.throwsWithCode(() => db.c.find().readConcern('frob').toArray(), 2);

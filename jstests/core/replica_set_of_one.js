// SPDX-License-Identifier: Apache-2.0
// A server with --replSet is the primary of a set that has it alone, from the start; one without is in none.
if (TestData.replicaSet) {
    const status = rs.status();
    assert.eq(status.set, TestData.replicaSet);
    assert.eq(status.members.map(({stateStr, self}) => [stateStr, self]), [['PRIMARY', true]]);
    assert.eq(rs.conf().members[0].host, db.hello().me);
    assert.eq(db.hello().setName, TestData.replicaSet);
    assert([0, 23].includes(db.getSiblingDB('admin').runCommand({replSetInitiate: {}}).code ?? 0));
    assert.throwsWithCode(() => rs.initiate(), 23);
    assert.throwsWithCode(() => rs.add('elsewhere:27017'), 93);
    assert.throwsWithCode(() => rs.stepDown(), 262);
    assert.throwsWithCode(() => rs.freeze(1), 95);
    const {version} = rs.conf();
    assert.eq(rs.reconfig(rs.conf()).ok, 1);
    assert.eq(rs.conf().version, version + 1);
    assert.eq(db.hello().setVersion, version + 1);
    assert.eq(db.adminCommand({getDefaultRWConcern: 1}).defaultWriteConcern, {w: 'majority', wtimeout: 0});
} else {
    assert.throwsWithCode(() => rs.status(), 76);
    assert.eq(db.hello().setName, undefined);
}

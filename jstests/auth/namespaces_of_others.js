// SPDX-License-Identifier: Apache-2.0
// A namespace in an argument is asked for, and an explained command cannot name another database.
load('jstests/libs/as_user.js');
db.c.insertOne({});
const other = db.getSiblingDB(db.getName() + '_other');
other.secret.insertOne({_id: 1});
const ann = asUser('ann', ['readWrite']);
refused(() => ann.c.aggregate([{$lookup: {from: {db: other.getName(), coll: 'secret'}, pipeline: [], as: 'x'}}]).toArray());
refused(() => ann.runCommand({dataSize: other.getName() + '.secret'}));
assert.eq(ann.runCommand({dataSize: ann.getName() + '.c'}).numObjects, 1);
assert.throwsWithCode(
    () => ann.runCommand({explain: {find: 'c', $db: other.getName()}}), 73, [],
    `Mismatched $db in explain command. Expected ${ann.getName()} but got ${other.getName()}`);
assert.eq(ann.runCommand({explain: {find: 'c', $db: ann.getName()}}).ok, 1);
other.dropDatabase();
db.dropUser('ann');

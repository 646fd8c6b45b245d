// SPDX-License-Identifier: Apache-2.0
// help() and the help of each kind of thing tell what there is.
const tells = (text, ...words) => words.forEach((word) => assert.includes(text, word));
tells(help(), 'use <db>', '.editor', 'show dbs');
tells(db.help(), 'runCommand', 'getSiblingDB', 'createUser');
tells(db.c.help(), 'insertOne', 'aggregate', 'createIndex');
tells(db.c.find().help(), 'batchSize', 'toArray', 'table');
tells(rs.help(), 'status', 'initiate', 'reconfig');
tells(sh.help(), 'enableSharding');
tells(db.getMongo().help(), 'getDBNames', 'startSession');
tells(db.getMongo().startSession().help(), 'withTransaction', 'endSession');
tells(db.c.getPlanCache().help(), 'clear', 'list');
tells(db.c.initializeOrderedBulkOp().help(), 'insert', 'execute');
tells(db.c.aggregate([]).help(), 'toArray', 'itcount');
for (const own of ['update1', 'aggregateTarget', 'findAndChange']) {
    assert(!db.c.help().includes(own), own + ' is for the shell itself');
}
assert.throws(() => show('nothing'));
tells(show('logs'), 'global');

// Each method has a sentence of its own.
for (const text of [db.help(), db.c.help()]) {
    const bare = text.split('\n').slice(2).filter((line) => !/^  \w+  +\S/.test(line));
    assert.eq(bare, []);
}
assert.includes(db.c.help(), 'deleteMany');
assert(/^  createIndex +create an index$/m.test(db.c.help()), db.c.help());

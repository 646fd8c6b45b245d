// SPDX-License-Identifier: Apache-2.0
// A user logs in by both SCRAM mechanisms, or by the one that was given.
load('jstests/libs/as_user.js');
asUser('ann', [], {mechanisms: ['SCRAM-SHA-256']});
const other = new Mongo(`mongodb://${db.getMongo().host}/`).getDB(db.getName());
assert.throws(() => other.auth({user: 'ann', pwd: 'word of ann', mechanism: 'SCRAM-SHA-1'}));
assert.eq(other.auth({user: 'ann', pwd: 'word of ann', mechanism: 'SCRAM-SHA-256'}).ok, 1);
db.dropUser('ann');

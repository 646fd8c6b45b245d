// SPDX-License-Identifier: Apache-2.0
// What the connection string says of reading and writing holds for its commands.
load('jstests/libs/connections.js');
const mongo = connection('readPreference=secondaryPreferred&readPreferenceTags=dc:east&readConcernLevel=majority&w=1&journal=true&wtimeoutMS=500');
assert.eq(mongo.getReadPrefMode(), 'secondaryPreferred');
assert.eq(mongo.getReadPrefTagSet(), [{dc: 'east'}]);
assert.eq(mongo.getSecondaryOk(), true);
assert.eq(mongo.getReadConcern(), 'majority');
assert.eq(mongo.getWriteConcern(), {w: 1, j: true, wtimeout: 500});
const {c} = mongo.getDB(db.getName());
c.insertOne({_id: 1});
assert.eq(c.findOne(), {_id: 1});
const plain = connection('readPreference=primary');
assert.eq([plain.getReadPrefMode(), plain.getReadPrefTagSet(), plain.getWriteConcern(), plain.getReadConcern(), plain.getSecondaryOk()],
          ['primary', undefined, undefined, undefined, false]);

// SPDX-License-Identifier: Apache-2.0
// Methods that only describe.
db.c.insertOne({_id: 1});
assert.eq(db.c.find().pretty().comment('x').noCursorTimeout().allowDiskUse().readPref('primary').readConcern('local').maxTimeMS(60000).toArray(), [{_id: 1}]);

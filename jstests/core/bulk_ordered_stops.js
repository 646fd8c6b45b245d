// SPDX-License-Identifier: Apache-2.0
// An ordered bulk write stops at its first error and tells where.
const error = assert.throwsWithCode(() => db.c.bulkWrite([
    {insertOne: {document: {_id: 1}}}, {insertOne: {document: {_id: 1}}}, {insertOne: {document: {_id: 2}}}]), 11000);
assert.eq(error.name, 'MongoBulkWriteError');
assert.eq([error.writeErrors.length, error.writeErrors[0].index, error.result.insertedCount], [1, 1, 1]);
assert.eq(db.c.distinct('_id'), [1]);

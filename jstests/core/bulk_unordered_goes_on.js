// SPDX-License-Identifier: Apache-2.0
// An unordered one does all that it can.
const error = assert.throws(() => db.c.bulkWrite([
    {insertOne: {document: {_id: 1}}}, {insertOne: {document: {_id: 1}}}, {updateOne: {filter: {_id: 1}, update: {$set: {a: 1}}}},
    {insertOne: {document: {_id: 2}}}, {insertOne: {document: {_id: 2}}}], {ordered: false}));
assert.eq(error.writeErrors.map((each) => [each.index, each.code]), [[1, 11000], [4, 11000]]);
assert.eq(db.c.find().sort({_id: 1}).toArray(), [{_id: 1, a: 1}, {_id: 2}]);

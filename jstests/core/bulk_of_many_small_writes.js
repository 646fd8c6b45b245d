// SPDX-License-Identifier: Apache-2.0
// Ten thousand writes of three kinds, mixed.
db.c.insertMany(Array.from({length: 3000}, (_, _id) => ({_id, n: 0})));
const operations = Array.from({length: 9000}, (_, at) => at % 3 === 0 ? {insertOne: {document: {_id: 10000 + at}}}
    : at % 3 === 1 ? {updateOne: {filter: {_id: (at - 1) / 3}, update: {$inc: {n: 1}}}} : {deleteOne: {filter: {_id: 10000 + at - 2}}});
const result = db.c.bulkWrite(operations, {ordered: false});
assert.eq([result.insertedCount, result.modifiedCount, result.deletedCount], [3000, 3000, 3000]);
assert.eq(db.c.countDocuments({n: 1}), 3000);
assert.eq(db.c.countDocuments({}), 3000);

// SPDX-License-Identifier: Apache-2.0
// A bulk write of more than one message holds arrives whole.
const pad = 'x'.repeat(1000000);
const {insertedCount} = db.c.bulkWrite(Array.from({length: 60}, (_, _id) => ({insertOne: {document: {_id, pad}}})));
assert.eq([insertedCount, db.c.countDocuments({})], [60, 60]);

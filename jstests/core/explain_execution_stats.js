// SPDX-License-Identifier: Apache-2.0
// executionStats counts what was read and what was given.
db.c.insertMany(Array.from({length: 30}, (_, n) => ({n})));
const {executionStats} = db.c.find({n: {$lt: 10}}).explain('executionStats');
assert.eq([executionStats.executionSuccess, Number(executionStats.nReturned), Number(executionStats.totalDocsExamined), Number(executionStats.totalKeysExamined)],
          [true, 10, 30, 0]);

// SPDX-License-Identifier: Apache-2.0
// A stage that does not exist, or is no object of one field.
const error = assert.throwsWithCode(() => db.c.aggregate([{$frob: {}}]), 40324);
assert.includes(error.message, "Unrecognized pipeline stage name: '$frob'");
assert.throwsWithCode(() => db.c.aggregate([{$match: {}, $limit: 1}]), 40323);
assert.throwsWithCode(() => db.c.aggregate([{$limit: 0}]), 15958);
assert.throwsWithCode(() => db.c.aggregate([{$skip: -1}]), 5107200);

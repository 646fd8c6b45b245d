// SPDX-License-Identifier: Apache-2.0
// $documents begins a pipeline of a database with given documents.
assert.eq(db.aggregate([{$documents: [{a: 1}, {a: 2}]}, {$match: {a: {$gt: 1}}}]).toArray(), [{a: 2}]);

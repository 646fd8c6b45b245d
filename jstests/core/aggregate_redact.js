// SPDX-License-Identifier: Apache-2.0
// $redact cuts out parts of documents, inner ones too.
db.c.insertOne({_id: 1, level: 1, a: {level: 5, x: 1}, b: {level: 1, y: 2}, t: [{level: 9}, {level: 0, z: 3}]});
assert.eq(db.c.aggregate([{$redact: {$cond: [{$lte: ['$level', 3]}, '$$DESCEND', '$$PRUNE']}}]).toArray(),
          [{_id: 1, level: 1, b: {level: 1, y: 2}, t: [{level: 0, z: 3}]}]);

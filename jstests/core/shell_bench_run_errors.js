// SPDX-License-Identifier: Apache-2.0
// benchRun() counts what the server refuses, and refuses what it does not know itself.
db.c.insertOne({_id: 1});
const result = benchRun({seconds: 0.1, ops: [{op: 'insert', ns: db.c.getFullName(), doc: {_id: 1}}]});
assert.eq(result.errCount, Math.round(result.insert * result.seconds));
assert.includes(result.error, 'E11000');
assert.throws(() => benchRun({ops: []}));
assert.throws(() => benchRun({ops: [{op: 'frob', ns: 'a.b'}]}));
assert.throws(() => benchRun({ops: [{op: 'findOne', ns: 'a.b', query: {n: {'#FROB': 1}}}]}));
assert.throws(() => benchRun({parallel: 0, ops: [{op: 'findOne', ns: 'a.b'}]}));

// SPDX-License-Identifier: Apache-2.0
// benchRun() runs operations over and over on several connections, and its counts are those of the server.
const ns = db.getName() + '.c';
const result = benchRun({parallel: 3, seconds: 0.3, totals: true, ops: [
    {op: 'insert', ns, doc: {n: {'#SEQ_INT': {}}, r: {'#RAND_INT': [5, 8]}, s: {'#RAND_STRING': [4]}}},
    {op: 'findOne', ns, query: {n: {'#RAND_INT': [0, 10]}}},
    {op: 'find', ns, query: {n: {$lt: 5}}},
    {op: 'update', ns, query: {_id: 'counter'}, update: {$inc: {n: 1}, $set: {kept: true}}, upsert: true},
    {op: 'remove', ns, query: {gone: 1}},
    {op: 'command', ns, command: {ping: 1}},
]});
assert.eq([result.parallel, result.errCount], [3, 0], tojson(result));
['insert', 'findOne', 'find', 'update', 'remove', 'command'].forEach((op) => assert.gt(result[op], 0, op));
assert.eq(db.c.countDocuments({r: {$exists: true}}), result.insert);
assert.eq(db.c.findOne({_id: 'counter'}).n, result.update);
assert.eq(db.c.distinct('n', {r: {$exists: true}}).length, result.insert);
assert(db.c.distinct('r').every((r) => r >= 5 && r < 8));
assert(db.c.distinct('s').every((s) => s.length === 4));
assert.eq(result.totalOps, result.insert + result.findOne + result.find + result.update + result.remove + result.command);
assert.gt(result.findOneLatencyAverageMicros, 0);

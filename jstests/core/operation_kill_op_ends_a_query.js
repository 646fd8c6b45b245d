// SPDX-License-Identifier: Apache-2.0
// killOp() ends what runs.
db.c.insertMany(Array.from({length: 3000}, (_, _id) => ({_id})));
const join = startParallelShell(() => {
    const error = assert.throws(() => db.c.aggregate([{$match: {$expr: {$lt: [{$reduce: {input: {$range: [0, 20000]}, initialValue: 0, in: {$add: ['$$value', '$$this']}}}, 0]}}}],
                                                     {comment: 'to be killed'}).toArray());
    assert.contains(error.code, [11601, 237, 11600]);
});
let op;
assert.soon(() => {
    op = db.currentOp({'command.comment': 'to be killed'}).inprog[0];
    return op !== undefined;
});
assert.eq(db.killOp(op.opid).ok, 1);
join();

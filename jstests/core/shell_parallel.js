// SPDX-License-Identifier: Apache-2.0
// startParallelShell() runs beside this one.
const join = startParallelShell("db.c.insertOne({_id: 'from beside'})");
assert.soon(() => db.c.findOne() !== null);
assert.eq(join(), 0);
const withArguments = startParallelShell((a, b) => { db.d.insertOne({sum: a + b}); }, null, false, 2, 3);
withArguments();
assert.eq(db.d.findOne().sum, 5);
const fails = startParallelShell('quit(7)');
assert.eq(fails({checkExitSuccess: false}), 7);

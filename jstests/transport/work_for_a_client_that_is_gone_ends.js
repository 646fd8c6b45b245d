// SPDX-License-Identifier: Apache-2.0
// A query whose client was killed does not go on.
db.c.insertMany(Array.from({length: 3000}, (_, _id) => ({_id})));
const running = () => db.currentOp({'command.comment': 'for nobody'}).inprog.length;
const file = getEnv('TMPDIR') + '/' + jsTestName() + '.js';
writeFile(file, `db.c.aggregate([{$match: {$expr: {$lt: [{$reduce: {input: {$range: [0, 200000]}, initialValue: 0,
    in: {$add: ['$$value', '$$this']}}}, 0]}}}], {comment: 'for nobody'}).toArray();`);
const shell = getEnv('FRESHET_SERVER').replace(/d(-sim)?$/, '');
run('sh', '-c', `'${shell}' --norc --quiet '${db.getMongo().getURI()}' '${file}' > /dev/null 2>&1 & echo $! > '${file}.pid'`);
assert.soon(() => running() === 1);
run('kill', '-9', cat(file + '.pid').trim());
assert.soon(() => running() === 0, 'the query is ended', 20000);
[file, file + '.pid'].forEach(removeFile);

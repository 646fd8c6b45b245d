// SPDX-License-Identifier: Apache-2.0
// What scripts print arrives at the standard output of the shell.
const out = getEnv('TMPDIR') + '/' + jsTestName() + '.js';
writeFile(out, "print('a', 1, {b: 2}); printjson({c: [1]}); printjsononeline({d: 1}); console.log('e');");
assert.eq(load(out), true);
removeFile(out);

// SPDX-License-Identifier: Apache-2.0
// A loaded file knows its name, and what it defines stays.
const path = getEnv('TMPDIR') + '/' + jsTestName() + '.js';
writeFile(path, 'globalThis.loadedFrom = __filename; function fromThere() { return 5; } var there = 6;');
load(path);
assert.eq([loadedFrom, fromThere(), there], [path, 5, 6]);
writeFile(path, 'syntax error here');
assert.throws(() => load(path));
removeFile(path);

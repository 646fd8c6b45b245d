// SPDX-License-Identifier: Apache-2.0
// Files for scripts.
const folder = '/tmp/freshet-files-' + process.pid;
mkdir(folder);
writeFile(folder + '/a.js', 'globalThis.loaded = 5;');
assert.eq(cat(folder + '/a.js'), 'globalThis.loaded = 5;');
assert.eq(md5sumFile(folder + '/a.js'), '2c5d1979b25f09d7cb84ee8e1dff4539');
assert.eq(ls(folder), [folder + '/a.js']);
assert(load(folder + '/a.js'));
assert.eq(loaded, 5);
removeFile(folder);
assert.throws(() => cat(folder + '/a.js'));
assert.throws(() => md5sumFile(folder + '/a.js'));

// SPDX-License-Identifier: Apache-2.0
// require() gives the parts of Node's modules that scripts use, and files as modules.
const fs = require('fs');
const path = require('node:path');
assert.eq(path.join('/a', '..', 'b/', './c.js'), '/b/c.js');
assert.eq([path.basename('/a/b.js'), path.basename('/a/b.js', '.js'), path.dirname('/a/b.js'), path.extname('/a/b.js')],
          ['b.js', 'b', '/a', '.js']);
assert.eq(path.resolve('/a', 'b', '../c'), '/a/c');
assert.eq(path.relative('/a/b', '/a/c/d'), '../c/d');
assert(path.isAbsolute(__dirname) && path.isAbsolute(__filename), __filename);
assert.eq(path.basename(__filename), 'shell_require.js');

const folder = path.join(require('os').tmpdir(), 'freshet_require_' + process.pid);
fs.mkdirSync(folder);
const file = path.join(folder, 'config.json');
assert.eq(fs.existsSync(file), false);
fs.writeFileSync(file, '{"port": 1');
fs.appendFileSync(file, '}');
assert.eq(JSON.parse(fs.readFileSync(file, 'utf8')), {port: 1});
assert.eq(fs.readdirSync(folder), ['config.json']);
assert.eq([fs.statSync(file).isFile(), fs.statSync(file).size, fs.statSync(folder).isDirectory()], [true, 11, true]);
assert.eq(assert.throws(() => fs.readFileSync(path.join(folder, 'none'))).code, 'ENOENT');
assert.eq(assert.throws(() => fs.statSync(path.join(folder, 'none'))).code, 'ENOENT');

fs.writeFileSync(path.join(folder, 'lib.js'), 'let calls = 0; exports.count = () => ++calls; exports.config = require("./config.json");\n');
const lib = require(path.join(folder, 'lib'));
assert.eq([lib.count(), require(path.join(folder, 'lib.js')).count(), lib.config.port], [1, 2, 1]);
assert.eq(assert.throws(() => require('./none_of_that_name')).code, 'MODULE_NOT_FOUND');
assert.includes(assert.throws(() => require('http')).message, 'This shell has fs, path');
fs.rmSync(folder, {recursive: true});
assert.eq(fs.existsSync(folder), false);
assert(process.argv.length >= 2 && process.argv[0].endsWith('freshet'), tojson(process.argv));

// SPDX-License-Identifier: Apache-2.0
// require(): the part of Node's modules that scripts for mongosh use, and files as modules. All is synchronous.
'use strict';

const normal = (path) => {
    const parts = [];
    for (const part of path.split('/')) {
        if (part === '..' && parts.length > 0 && parts[parts.length - 1] !== '..') {
            parts.pop();
        } else if (part !== '' && part !== '.' && !(part === '..' && path.startsWith('/'))) {
            parts.push(part);
        }
    }
    const text = parts.join('/') + (path.endsWith('/') && parts.length > 0 ? '/' : '');
    return path.startsWith('/') ? '/' + text : text === '' ? '.' : text;
};
const path = {
    sep: '/',
    delimiter: ':',
    normalize: (text) => normal(String(text)),
    join: (...parts) => normal(parts.filter((part) => part !== '').join('/')),
    isAbsolute: (text) => text.startsWith('/'),
    resolve(...parts) {
        const start = parts.reduceRight((found, part) => found.startsWith('/') ? found : part === '' ? found : `${part}/${found}`, '');
        const whole = normal(start.startsWith('/') ? start : `${host.currentFolder()}/${start}`);
        return whole.length > 1 ? whole.replace(/\/$/, '') : whole;
    },
    dirname(text) {
        const trimmed = text.replace(/(.)\/+$/, '$1');
        const slash = trimmed.lastIndexOf('/');
        return slash < 0 ? '.' : slash === 0 ? '/' : trimmed.slice(0, slash);
    },
    basename(text, extension = '') {
        const base = text.replace(/\/+$/, '').replace(/^.*\//, '');
        return extension !== '' && base !== extension && base.endsWith(extension) ? base.slice(0, -extension.length) : base;
    },
    extname: (text) => (/[^/](\.[^./]*)$/.exec(text.replace(/\/+$/, '')) || ['', ''])[1],
    relative(from, to) {
        const [here, there] = [path.resolve(from), path.resolve(to)].map((text) => text.split('/').filter((part) => part !== ''));
        const same = here.findIndex((part, at) => part !== there[at]);
        const shared = same < 0 ? here.length : same;
        return [...here.slice(shared).map(() => '..'), ...there.slice(shared)].join('/');
    },
};
path.posix = path;

// As Node names what went wrong with a file.
const withFile = (call, name, file) => {
    try {
        return call();
    } catch (error) {
        const code = error.status === 'NotFound' ? 'ENOENT' : 'EIO';
        throw Object.assign(new Error(`${code}: ${error.message}, ${name} '${file}'`), {code, syscall: name, path: file});
    }
};
const isFolder = (file) => {
    try {
        host.listFiles(file);
        return true;
    } catch (error) {
        return false;
    }
};
const infoOf = (file) => {
    const found = withFile(() => host.listFiles(path.dirname(path.resolve(file))), 'stat', file)
        .find((entry) => entry.baseName === path.basename(path.resolve(file)));
    if (found === undefined && path.resolve(file) !== '/') {
        throw Object.assign(new Error(`ENOENT: no such file or directory, stat '${file}'`), {code: 'ENOENT', syscall: 'stat', path: file});
    }
    const isDirectory = found === undefined || found.isDirectory;
    return {size: found === undefined ? 0 : Number(found.size || 0), isDirectory: () => isDirectory, isFile: () => !isDirectory};
};
// Files are texts here: readFileSync gives a string, also when no encoding is named.
const fs = {
    existsSync: (file) => host.fileExists(String(file)),
    readFileSync: (file) => withFile(() => host.readFile(String(file)), 'open', file),
    writeFileSync: (file, text) => { withFile(() => host.writeFile(String(file), String(text)), 'open', file); },
    appendFileSync(file, text) { fs.writeFileSync(file, (fs.existsSync(file) ? fs.readFileSync(file) : '') + String(text)); },
    readdirSync: (file) => withFile(() => host.listFiles(String(file)), 'scandir', file).map(({baseName}) => baseName).sort(),
    mkdirSync(file, {recursive = false} = {}) {
        if (!recursive && fs.existsSync(file)) {
            throw Object.assign(new Error(`EEXIST: file already exists, mkdir '${file}'`), {code: 'EEXIST', syscall: 'mkdir', path: file});
        }
        withFile(() => host.makeFolder(String(file)), 'mkdir', file);
    },
    unlinkSync(file) {
        infoOf(file);  // tells when it is not there
        withFile(() => host.removeFile(String(file)), 'unlink', file);
    },
    rmSync(file, {recursive = false, force = false} = {}) {
        if (!force) {
            infoOf(file);
        }
        if (!recursive && isFolder(file)) {
            throw Object.assign(new Error(`EISDIR: illegal operation on a directory, rm '${file}'`), {code: 'EISDIR', path: file});
        }
        withFile(() => host.removeFile(String(file)), 'rm', file);
    },
    statSync: infoOf,
};

const kModules = {
    fs,
    path,
    os: {EOL: '\n', hostname: () => host.hostName(), platform: () => 'linux', tmpdir: () => host.environment('TMPDIR') || '/tmp',
         homedir: () => host.environment('HOME') || '/'},
    util: {inspect: (value, options) => library.inspect(value, options), format: (...values) => values.map(
        (value) => library.display(value)).join(' ')},
};
const loaded = new Map();
const fileOf = (name, folder) => {
    const base = path.resolve(folder, name);
    const found = [base, base + '.js', base + '.json', base + '/index.js'].find((file) => host.fileExists(file) && !isFolder(file));
    if (found === undefined) {
        throw Object.assign(new Error(`Cannot find module '${name}'`), {code: 'MODULE_NOT_FOUND'});
    }
    return found;
};
const load = (file) => {
    if (!loaded.has(file)) {
        const module = {exports: {}, id: file, filename: file};
        loaded.set(file, module);
        const text = host.readFile(file);
        if (file.endsWith('.json')) {
            module.exports = JSON.parse(text);
        } else {
            const folder = path.dirname(file);
            const body = native.evaluate(`(function (exports, require, module, __filename, __dirname) {${text}\n})`, file);
            body.call(module.exports, module.exports, requireFrom(() => folder), module, file, folder);
        }
    }
    return loaded.get(file).exports;
};
const requireFrom = (folder) => (name) => {
    const own = kModules[name.replace(/^node:/, '')];
    if (own !== undefined) {
        return own;
    }
    if (!/^\.{0,2}\//.test(name)) {
        throw Object.assign(new Error(`Cannot find module '${name}'. This shell has ${Object.keys(kModules).join(', ')}, and files by their path`),
                            {code: 'MODULE_NOT_FOUND'});
    }
    return load(fileOf(name, folder()));
};
library.absolute = (file) => path.resolve(file);
library.put(globalThis, {require: requireFrom(() => globalThis.__dirname || host.currentFolder())});

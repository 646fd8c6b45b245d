// SPDX-License-Identifier: Apache-2.0
// The functions that scripts call by name, of mongosh and of the older shell.
'use strict';

const texts = (values) => values.map((value) => value === undefined ? '' : library.display(value, library.inspectOptions()))
    .join(' ');
const print = (...values) => library.print(texts(values));
const baseName = (path) => path.replace(/^.*\//, '');

library.runFile = (path) => {
    const text = host.readFile(path).replace(/^#!.*/, '');
    const before = [globalThis.__filename, globalThis.__dirname];
    const whole = library.absolute(path);
    library.put(globalThis, {__filename: whole, __dirname: whole.replace(/\/[^/]*$/, '') || '/'});
    try {
        library.evaluate(text, path, false);
    } finally {
        library.put(globalThis, {__filename: before[0], __dirname: before[1]});
    }
    return true;
};
// Runs a script of the command line: its errors are shown, its value is not.
library.runScript = (path, mode) => {
    library.mode = mode;
    try {
        library.runFile(path);
        return true;
    } catch (error) {
        library.tellError(error, mode);
        return false;
    }
};

const legacyText = (value, indent, oneLine, depth = 0) => {
    if (depth > 180) {
        throw new Error('tojson: nested too deeply');
    }
    const inner = (each, prefix = '') => prefix + legacyText(each, indent + '\t', oneLine, depth + 1);
    const list = (open, close, parts) => parts.length === 0 ? `${open} ${close}`
        : oneLine ? `${open} ${parts.join(', ')} ${close}`
        : `${open}\n${parts.map((part) => indent + '\t' + part).join(',\n')}\n${indent}${close}`;
    if (typeof value === 'string') {
        return JSON.stringify(value);
    }
    if (typeof value === 'function') {
        return value.toString();
    }
    if (typeof value !== 'object' || value === null) {
        return String(value);
    }
    const direct = [[ObjectId, () => `ObjectId("${value.hex}")`], [Long, () => `NumberLong("${value}")`],
                    [Int32, () => `NumberInt(${value.value})`], [Double, () => String(value.value)],
                    [Decimal128, () => `NumberDecimal("${value}")`], [Timestamp, () => `Timestamp(${value.t}, ${value.i})`],
                    [Date, () => Number.isNaN(value.getTime()) ? 'Invalid Date' : `ISODate("${value.toISOString().replace('.000Z', 'Z')}")`],
                    [RegExp, () => RegExp.prototype.toString.call(value)], [MinKey, () => '{ "$minKey" : 1 }'], [MaxKey, () => '{ "$maxKey" : 1 }'],
                    [Error, () => `new ${value.name}(${JSON.stringify(value.message)})`]];
    const known = direct.find(([type]) => value instanceof type);
    if (known !== undefined) {
        return known[1]();
    }
    if (Array.isArray(value)) {
        return list('[', ']', value.map((each) => inner(each)));
    }
    if (library.isBson(value) && !(value instanceof DBRef)) {
        return value.inspect((each) => inner(each));
    }
    return list('{', '}', Object.keys(value).map((name) => `${JSON.stringify(name)} : ${inner(value[name])}`));
};
library.tojson = (value, indent = '', oneLine = false) => {
    const short = legacyText(value, '', true);
    return oneLine || (short.length < 80 && indent === '') ? short : legacyText(value, indent, false);
};

const kSettings = library.settings;
const kIsFlag = [(value) => typeof value === 'boolean', 'a boolean'];
const kIsCount = [(value) => Number.isInteger(value) && value >= 0, 'a positive integer'];
const kSettingRules = {
    displayBatchSize: [(value) => Number.isInteger(value) && value > 0, 'a positive integer'],
    maxTimeMS: [(value) => value === null || (Number.isInteger(value) && value > 0), 'null or a positive integer'],
    inspectCompact: [(value) => kIsFlag[0](value) || kIsCount[0](value), 'a boolean or a positive integer'],
    inspectDepth: [(value) => value === Infinity || kIsCount[0](value), kIsCount[1]],
    historyLength: kIsCount,
    editor: [(value) => value === null || typeof value === 'string', 'a string or null'],
    redactHistory: [(value) => ['keep', 'remove', 'remove-redact'].includes(value), "one of 'keep', 'remove', or 'remove-redact'"],
    enableTelemetry: kIsFlag,
    showStackTraces: kIsFlag,
    disableSchemaSampling: kIsFlag,
};
const kClearScreen = '\u001b[2J\u001b[H';
const kClocks = new Map();
library.put(globalThis, {
    print,
    printjson: (...values) => library.print(values.map((value) => library.display(
        value, {...library.inspectOptions(), compact: 0})).join(' ')),
    printjsononeline: (value) => library.print(library.tojson(value, '', true)),
    console: {
        log: print, info: print, warn: print, error: print, debug: print, dir: (value) => print(value),
        table: (rows) => library.print(library.tableOf(rows)), clear: () => host.print(kClearScreen),
        assert(condition, ...values) {
            if (!condition) {
                print('Assertion failed' + (values.length > 0 ? ':' : ''), ...values);
            }
        },
        time(label = 'default') { kClocks.set(label, Date.now()); },
        timeEnd(label = 'default') {
            print(`${label}: ${Date.now() - kClocks.get(label)}ms`);
            kClocks.delete(label);
        },
    },
    tojson: library.tojson,
    tojsononeline: (value) => library.tojson(value, '', true),
    tojsonObject: library.tojson,
    tostrictjson: (value) => EJSON.stringify(value),
    btoa(text) {
        if (/[^\0-\xff]/.test(text)) {
            throw library.invalid('btoa: a character does not fit into a byte');
        }
        return new Binary(Uint8Array.from(String(text), (letter) => letter.charCodeAt(0)), 0).base64();
    },
    atob: (text) => Array.from(BinData(0, text).buffer, (byte) => String.fromCharCode(byte)).join(''),
    load: (path) => library.runFile(String(path)),
    sleep: (ms) => host.sleep(Number(ms)),
    quit: (code) => host.quit(code === undefined ? 0 : Number(code)),
    exit: (code) => host.quit(code === undefined ? 0 : Number(code)),
    version: () => host.version(),
    buildInfo: () => ({version: host.version(), gitVersion: '', engine: 'SpiderMonkey'}),
    isInteractive: () => library.mode !== undefined && library.mode.interactive,
    passwordPrompt: () => host.askPassword('Enter password: '),
    use: (name) => library.use(name),
    show: (what, ...rest) => library.showWhat([what, ...rest].join(' ')),
    help: Object.assign((what) => library.help(what), {[Symbol.toPrimitive]: () => library.help()}),
    isNumber: (value) => typeof value === 'number',
    isString: (value) => typeof value === 'string',
    isObject: (value) => typeof value === 'object' && value !== null,
    global: globalThis,
    it: undefined,
    cls: () => host.print(kClearScreen),
    enableTelemetry: () => 'Telemetry is not a thing of this shell.',
    disableTelemetry: () => 'Telemetry is not a thing of this shell.',
    config: {
        get: (name) => kSettings[name],
        set(name, value) {
            if (!Object.hasOwn(kSettings, name)) {
                return `Option "${name}" is not available in this environment`;
            }
            const [isValid, wanted] = kSettingRules[name];
            if (!isValid(value)) {
                throw library.invalid(`Cannot set option "${name}": ${name} must be ${wanted}`);
            }
            kSettings[name] = value;
            return `Setting "${name}" has been changed`;
        },
        reset(name) {
            if (!Object.hasOwn(kSettings, name)) {
                return this.set(name);
            }
            this.set(name, library.defaultSettings[name]);
            return `Setting "${name}" has been reset to its default value`;
        },
        [library.kInspect]: (printer, level) => printer.value({...kSettings}, level),
    },
    DBQuery: {
        get shellBatchSize() { return kSettings.displayBatchSize; },
        set shellBatchSize(size) { kSettings.displayBatchSize = size; },
        Option: {tailable: 2, slaveOk: 4, oplogReplay: 8, noTimeout: 16, awaitData: 32, exhaust: 64, partial: 128},
    },
    log: {info: () => undefined, warn: () => undefined, error: () => undefined, fatal: () => undefined, debug: () => undefined, getPath: () => ''},

    // Files and the machine, as in the older shell
    cat: (path) => host.readFile(path),
    pwd: () => host.currentFolder(),
    cd: (path) => host.changeFolder(path),
    ls: (path) => host.listFiles(path === undefined ? '.' : path).map(({name, isDirectory}) => isDirectory ? name + '/' : name),
    listFiles: (path) => host.listFiles(path === undefined ? '.' : path),
    mkdir: (path) => ({exists: !host.makeFolder(path), created: true}),
    removeFile: (path) => host.removeFile(path),
    writeFile: (path, text) => host.writeFile(path, String(text)),
    fileExists: (path) => host.fileExists(path),
    md5sumFile: (path) => host.md5OfFile(String(path)),
    pathExists: (path) => host.fileExists(path),
    hostname: () => host.hostName(),
    getHostName: () => host.hostName(),
    getMemInfo: () => host.memory(),
    getEnv: (name) => host.environment(name),
    process: {env: new Proxy({}, {get: (_, name) => host.environment(String(name))}), pid: host.processId(),
              platform: 'linux', exit: (code) => host.quit(code === undefined ? 0 : Number(code)), cwd: () => host.currentFolder(),
              memoryUsage: () => host.memory(), uptime: () => 0,
              get argv() { return host.commandLine(); }},
    Random: {
        state: 1,
        setRandomSeed(seed) { Random.state = (seed === undefined ? Date.now() : seed) >>> 0; },
        // A linear congruential generator: the same numbers for the same seed.
        rand() {
            Random.state = (Math.imul(Random.state, 1664525) + 1013904223) >>> 0;
            return Random.state / 4294967296;
        },
        randInt(low, high) { return high === undefined ? Math.floor(Random.rand() * low) : low + Math.floor(Random.rand() * (high - low)); },
    },
});
delete globalThis.it;
Array.prototype.forEach.call([['shuffle', (array) => array.sort(() => Random.rand() - 0.5)],
                              ['contains', (array, value) => array.includes(value)], ['sum', (array) => array.reduce((a, b) => a + b, 0)],
                              ['unique', (array) => [...new Set(array)]]],
                             ([name, method]) => library.put(Array, {[name]: method}));
library.put(Object, {
    extend: (to, from, deep) => {
        for (const [name, value] of Object.entries(from)) {
            to[name] = deep && value !== null && typeof value === 'object' ? Object.extend(Array.isArray(value) ? [] : {}, value, true) : value;
        }
        return to;
    },
    merge: (a, b) => ({...a, ...b}),
    keySet: (object) => Object.keys(object),
});
library.put(Number.prototype, {toNumber() { return Number(this); }, zeroPad(width) { return String(this).padStart(width, '0'); }});
library.baseName = baseName;

// Replica sets, and sharded clusters, which do not exist here

const admin = (command) => db.adminCommand(command);
const configure = (change) => {
    const config = admin({replSetGetConfig: 1}).config;
    change(config);
    config.version += 1;
    return admin({replSetReconfig: config});
};
library.put(globalThis, {
    rs: {
        status: () => admin({replSetGetStatus: 1}),
        initiate: (config = {}) => admin({replSetInitiate: config}),
        conf: () => admin({replSetGetConfig: 1}).config,
        config: () => admin({replSetGetConfig: 1}).config,
        reconfig: (config, options = {}) => admin(
            {replSetReconfig: {...config, version: admin({replSetGetConfig: 1}).config.version + 1}, ...options}),
        hello: () => db.hello(),
        isMaster: () => db.isMaster(),
        stepDown: (seconds = 60, catchUp = 10) => admin({replSetStepDown: seconds, secondaryCatchUpPeriodSecs: catchUp}),
        freeze: (seconds) => admin({replSetFreeze: seconds}),
        syncFrom: (member) => admin({replSetSyncFrom: member}),
        add: (member) => configure((config) => config.members.push(
            {_id: Math.max(-1, ...config.members.map(({_id}) => _id)) + 1, ...(typeof member === 'string' ? {host: member} : member)})),
        addArb: (name) => rs.add({host: name, arbiterOnly: true}),
        remove: (name) => configure((config) => { config.members = config.members.filter((member) => member.host !== name); }),
        secondaryOk: () => db.getMongo().setSecondaryOk(),
        slaveOk: () => db.getMongo().setSecondaryOk(),
        reconfigForPSASet: (index, config, options = {}) => admin({replSetReconfig: config, ...options}),
        printSlaveReplicationInfo: () => db.printReplicationInfo(),
        help: () => library.helpOf(rs, 'Methods of rs:'),
        printReplicationInfo: () => db.printReplicationInfo(),
        printSecondaryReplicationInfo: () => db.printSecondaryReplicationInfo(),
        [library.kInspect]: () => library.helpOf(rs, 'Methods of rs:'),
    },
    sh: {
        status() { throw new library.MongoshInvalidInputError('[SHAPI-10003] This db does not have sharding enabled. Be sure you are connecting to a mongos from the shell and not to a mongod.'); },
        help: () => library.helpOf(sh, 'Methods of sh:'),
        [library.kInspect]: () => library.helpOf(sh, 'Methods of sh:'),
        enableSharding: (name) => admin({enableSharding: name}),
        shardCollection: (namespace, key, unique = false, options = {}) => admin({shardCollection: namespace, key, unique, ...options}),
    },
});

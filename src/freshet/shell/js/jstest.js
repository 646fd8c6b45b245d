// SPDX-License-Identifier: Apache-2.0
// Functions for test scripts: assert, jsTestLog, startParallelShell, and FreshetRunner to start,
// kill and restart servers.
'use strict';

const text = (value) => typeof value === 'string' ? value : library.tojson(value, '', true);
const suffix = (message) => message === undefined ? '' : ' : ' + (typeof message === 'function' ? message() : text(message));
const doassert = (message, fields) => {
    const error = new Error(message);
    throw Object.assign(error, fields);
};
const same = (a, b) => {
    if (Object.is(a, b)) {
        return true;
    }
    if (typeof a === 'function' || typeof b === 'function') {
        return a === b;
    }
    return host.compare(a === undefined ? null : a, b === undefined ? null : b) === 0 && (a === undefined) === (b === undefined);
};
const check = (isOk, words, message, fields) => {
    if (!isOk) {
        doassert((typeof words === 'function' ? words() : words) + suffix(message), fields);
    }
};

function assert(value, message) {
    check(value, 'assert failed', message);
}
const comparison = (name, holds, words) => {
    assert[name] = (a, b, message) => check(holds(a, b), () => `[${text(a)}] ${words} [${text(b)}] fails`, message);
};
comparison('eq', same, 'equals');
comparison('neq', (a, b) => !same(a, b), 'differs from');
comparison('lt', (a, b) => host.compare(a, b) < 0, '<');
comparison('lte', (a, b) => host.compare(a, b) <= 0, '<=');
comparison('gt', (a, b) => host.compare(a, b) > 0, '>');
comparison('gte', (a, b) => host.compare(a, b) >= 0, '>=');
comparison('docEq', (a, b) => same(library.sorted(a), library.sorted(b)), 'is, but for the order of fields,');
comparison('in', (value, list) => list.some((each) => same(each, value)), 'is one of');
comparison('contains', (value, list) => list.some((each) => same(each, value)), 'is one of');
comparison('includes', (list, value) => typeof list === 'string' ? list.includes(value) : list.some((each) => same(each, value)), 'includes');
comparison('sameMembers', (a, b) => {
    const left = [...b];
    return a.length === b.length && a.every((value) => {
        const at = left.findIndex((other) => same(library.sorted(value), library.sorted(other)));
        return at >= 0 && left.splice(at, 1).length === 1;
    });
}, 'has the members of');

const codesOf = (codes) => Array.isArray(codes) ? codes : [codes];
const codeFits = (error, codes) => codesOf(codes).some((code) => error.code === code || error.codeName === code);
const failureOf = (action, args) => {
    try {
        library.await(action(...args));
    } catch (error) {
        return error;
    }
    return undefined;
};
// The errors of a reply, a write's result or a thrown error.
const problemOf = (result) => {
    if (result instanceof Error) {
        return result;
    }
    if (result === null || typeof result !== 'object' || result.ok === 0 || (result.ok !== undefined && !result.ok)) {
        return result === null || typeof result !== 'object' ? {errmsg: 'this is no reply: ' + text(result)} : result;
    }
    return (result.writeErrors && result.writeErrors[0]) || result.writeConcernError || undefined;
};
Object.assign(assert, {
    isnull: (value, message) => check(value === null || value === undefined, () => `${text(value)} is not null`, message),
    isTrue: (value, message) => check(value === true, () => `${text(value)} is not true`, message),
    isFalse: (value, message) => check(value === false, () => `${text(value)} is not false`, message),
    hasFields: (document, names, message) => check(names.every((name) => Object.hasOwn(document, name)),
                                                   () => `${text(document)} lacks one of ${names}`, message),
    close: (a, b, message, digits = 4) => check(a === b || Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b)) < 10 ** -digits,
                                                () => `${a} is not close to ${b}`, message),
    between: (low, value, high, message) => check(host.compare(low, value) <= 0 && host.compare(value, high) <= 0,
                                                  () => `${text(value)} is not between ${text(low)} and ${text(high)}`, message),
    throws(action, args = [], message) {
        const error = failureOf(action, args);
        check(error !== undefined, 'did not throw an exception', message);
        return error;
    },
    doesNotThrow(action, args = [], message) {
        const error = failureOf(action, args);
        check(error === undefined, () => 'threw ' + error, message);
    },
    throwsWithCode(action, codes, args = [], message) {
        const error = assert.throws(action, args, message);
        check(codeFits(error, codes), () => `threw ${error} [${error.code}] instead of ${codesOf(codes)}`, message);
        return error;
    },
    commandWorked(result, message) {
        const problem = problemOf(result);
        check(problem === undefined, () => 'command failed: ' + text(problem), message, {result});
        return result;
    },
    commandFailed(result, message) {
        check(problemOf(result) !== undefined, () => 'command worked when it should have failed: ' + text(result), message);
        return result;
    },
    commandFailedWithCode(result, codes, message) {
        assert.commandFailed(result, message);
        const problem = problemOf(result);
        check(codeFits(problem, codes), () => `failed with ${problem.code} (${problem.codeName}), not ${codesOf(codes)}: ${text(problem)}`,
              message);
        return result;
    },
    writeOK: (result, message) => assert.commandWorked(result, message),
    writeError: (result, message) => assert.commandFailed(result, message),
    // Repeats the check until it is true.
    soon(condition, message, timeoutMs = 30000, intervalMs = 20) {
        const due = Date.now() + timeoutMs;
        for (;;) {
            if (typeof condition === 'function' ? library.await(condition()) : globalThis.eval(condition)) {
                return;
            }
            check(Date.now() < due, `was not so within ${timeoutMs} ms`, message);
            host.sleep(intervalMs);
        }
    },
    soonNoExcept: (condition, message, timeoutMs, intervalMs) => assert.soon(() => {
        try {
            return condition();
        } catch (error) {
            return false;
        }
    }, message, timeoutMs, intervalMs),
    retry(condition, message, attempts, intervalMs = 20) {
        for (let attempt = 0; attempt < attempts; ++attempt) {
            if (condition()) {
                return;
            }
            host.sleep(intervalMs);
        }
        doassert(`was not so in ${attempts} attempts` + suffix(message));
    },
});
assert.commandWorkedOrFailedWithCode = (result, codes, message) =>
    problemOf(result) === undefined ? result : assert.commandFailedWithCode(result, codes, message);
assert.adminCommandWorked = (connection, command) => assert.commandWorked(connection.adminCommand(command));
assert.eq.automsg = (a, b) => assert.eq(globalThis.eval(a), globalThis.eval(b));

const stamp = () => new Date().toISOString();
const jsTestLog = (message) => library.print(`---- ${stamp()} ${text(message)}`);
const jsTest = {
    options: () => library.testData,
    name: () => library.testData.testName,
    log: jsTestLog,
};
library.testData = {testName: 'shell'};

// Skipping: the process ends with a code that smoke.py knows.
const kSkipCode = 42;
const quitSkipped = (why) => {
    library.print('SKIPPED: ' + why);
    host.quit(kSkipCode);
};

// Other processes

const awaitEnd = (id) => {
    for (;;) {
        const code = host.waitProcess(id, false);
        if (code !== null) {
            return code;
        }
        host.sleep(5);
    }
};
// Runs code, or a function with arguments, in a separate shell. Returns a function that waits for
// it.
const startParallelShell = (code, port, noConnect = false, ...args) => {
    const source = typeof code === 'function' ? `(${code})(${args.map((arg) => EJSON.stringify(arg, {relaxed: false}))
        .map((json) => `EJSON.parse(${JSON.stringify(json)})`).join(', ')})` : code;
    const where = port === undefined || port === null ? db.getMongo().host : '127.0.0.1:' + port;
    const {login} = library.testData;
    const program = [host.ownProgram(), '--norc', '--quiet', `mongodb://${login === undefined ? '' : login + '@'}` +
        `${encodeURIComponent(where).replace('%3A', ':')}/${db.getName()}${login === undefined ? '' : '?authSource=admin'}`];
    const id = host.startProcess([...program, ...(noConnect ? ['--nodb'] : []), '--eval', source], '');
    return ({checkExitSuccess = true} = {}) => {
        const ended = awaitEnd(id);
        check(!checkExitSuccess || ended === 0, `the parallel shell ended with ${ended}`);
        return ended;
    };
};

// A server for one test.
class Server {
    constructor(options = {}) {
        library.put(this, {port: options.port || host.freePort(), options, id: undefined});
        library.put(this, {folder: options.dbpath || `${host.environment('TMPDIR') || '/tmp'}/freshet-jstest-${host.processId()}-${this.port}`});
        library.put(this, {log: this.folder + '.log', host: '127.0.0.1:' + this.port, connection: undefined});
    }
    get uri() { return `mongodb://127.0.0.1:${this.port}/test`; }
    get pid() { return this.id; }
    program() {
        const own = host.ownProgram();
        return host.environment('FRESHET_SERVER') || own.slice(0, own.lastIndexOf('/') + 1) + 'freshetd';
    }
    arguments() {
        const {port, dbpath, cleanData, faults, ...rest} = this.options;
        return Object.entries(rest).flatMap(([name, value]) => name === 'setParameter'
            ? Object.entries(value).flatMap(([key, each]) => ['--setParameter', `${key}=${each}`])
            : value === '' || value === true ? ['--' + name] : ['--' + name, String(value)]);
    }
    // For freshetd-sim: a file with the suite's faults and the test's own.
    input() {
        const common = host.environment('FRESHET_SERVER_INPUT') || '';
        if (this.options.faults === undefined) {
            return common;
        }
        const path = this.folder + '.faults';
        host.writeFile(path, (common === '' ? '' : host.readFile(common)) + this.options.faults.map((line) => line + '\n').join(''));
        return path;
    }
    start() {
        host.makeFolder(this.folder);
        library.put(this, {id: host.startProcess([this.program(), '--dbpath', this.folder, '--port', String(this.port),
                                                  ...this.arguments()],
                                                 this.log, this.input())});
        kServers.add(this);
        assert.soon(() => {
            const code = host.waitProcess(this.id, false);
            if (code !== null) {
                kServers.delete(this);
                doassert(`the server ended with ${code}:\n${host.readFile(this.log).slice(-2000)}`);
            }
            try {
                library.put(this, {connection: new library.Mongo(this.uri)});
                return true;
            } catch (error) {
                return false;
            }
        }, 'the server answers', 60000);
        return this;
    }
    getDB(name) { return this.connection.getDB(name); }
    adminCommand(command) { return this.connection.adminCommand(command); }
    getURI() { return this.uri; }
    // Ends it with a signal and returns its exit code, or minus the signal that killed it.
    stop(signal = 15) {
        host.signalProcess(this.id, signal);
        return this.awaitEnd();
    }
    // For a server that ends by itself.
    awaitEnd() {
        const code = awaitEnd(this.id);
        kServers.delete(this);
        return code;
    }
    kill() { return this.stop(9); }
    restart(options = {}) {
        Object.assign(this.options, options);
        return this.start();
    }
    remove() {
        host.removeFile(this.folder);
        host.removeFile(this.log);
        host.removeFile(this.folder + '.faults');
    }
}
const kServers = new Set();
const FreshetRunner = {
    runServer: (options) => new Server(options).start(),
    stopServer(server, signal, {keepData = false} = {}) {
        const code = server.stop(signal);
        if (!keepData) {
            server.remove();
        }
        return code;
    },
    // Ends what a test has left running. Called by the shell when it exits.
    stopAll() {
        for (const server of [...kServers]) {
            server.kill();
            server.remove();
        }
    },
    EXIT_CLEAN: 0,
};
library.stopServers = () => FreshetRunner.stopAll();
// The names that they had in the older harness.
const MongoRunner = {
    runMongod: FreshetRunner.runServer,
    stopMongod: FreshetRunner.stopServer,
    dataPath: '/tmp/',
    EXIT_CLEAN: 0,
};

library.put(globalThis, {
    assert, doassert, jsTestLog, jsTest, jsTestName: () => library.testData.testName, TestData: library.testData,
    startParallelShell, FreshetRunner, MongoRunner, quitSkipped, allocatePort: () => host.freePort(),
    documentEq: (a, b) => same(library.sorted(a), library.sorted(b)),
    friendlyEqual: same,
    runProgram: (...words) => awaitEnd(host.startProcess(words.map(String), '')),
    run: (...words) => awaitEnd(host.startProcess(words.map(String), '')),
});

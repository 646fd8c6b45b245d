// SPDX-License-Identifier: Apache-2.0
// One input of the user: a command like `use shop`, or JavaScript that is evaluated, awaited and
// shown.
'use strict';

// Promises: calls of the shell are synchronous, but `await` and promises in scripts work.

const timers = [];
let timerCount = 0;
const runNextTimer = () => {
    timers.sort((a, b) => a.due - b.due || a.id - b.id);
    const timer = timers.shift();
    host.sleep(Math.max(0, timer.due - Date.now()));
    if (timer.every !== undefined) {
        timers.push({...timer, due: Date.now() + timer.every});
    }
    timer.action();
};
library.runTimers = (isOver = () => false) => {
    native.runJobs();
    while (timers.length > 0 && !isOver()) {
        runNextTimer();
        native.runJobs();
    }
};
// The values of `for await`, one after the other.
const walked = function* (values) {
    if (typeof values[Symbol.asyncIterator] !== 'function') {
        for (const value of values) {
            yield library.await(value);
        }
        return;
    }
    const steps = values[Symbol.asyncIterator]();
    for (let step = library.await(steps.next()); !step.done; step = library.await(steps.next())) {
        yield step.value;
    }
};
library.await = (value) => {
    if (native.promiseState(value) === undefined) {
        return value !== null && typeof value === 'object' && typeof value.then === 'function' && !library.isBson(value)
            ? library.await(Promise.resolve(value)) : value;
    }
    library.runTimers(() => native.promiseState(value) !== 0);
    if (native.promiseState(value) === 2) {
        throw native.promiseResult(value);
    }
    return native.promiseState(value) === 1 ? native.promiseResult(value) : undefined;
};
const addTimer = (action, ms, every) => {
    timers.push({id: ++timerCount, action, due: Date.now() + Number(ms || 0), every});
    return timerCount;
};
const clearTimer = (id) => {
    const at = timers.findIndex((timer) => timer.id === id);
    if (at >= 0) {
        timers.splice(at, 1);
    }
};
library.put(globalThis, {
    setTimeout: (action, ms, ...args) => addTimer(() => action(...args), ms),
    setInterval: (action, ms, ...args) => addTimer(() => action(...args), ms, Number(ms || 0)),
    setImmediate: (action, ...args) => addTimer(() => action(...args), 0),
    clearTimeout: clearTimer,
    clearInterval: clearTimer,
    queueMicrotask: (action) => { Promise.resolve().then(action); },
    __freshetAwait: (value) => library.await(value),
    __freshetWalk: walked,
});

// Rewriting: `await x` outside functions becomes a call, and names that one line declares may be
// declared again by a later one.

let parser;
const parse = (text) => {
    if (parser === undefined) {
        native.addReflectParse();
        parser = Reflect.parse;
        delete Reflect.parse;
    }
    return parser(text, {loc: true});
};
const canParse = (text) => {
    try {
        parse(text);
        return true;
    } catch (error) {
        return false;
    }
};
const kHead = 'async function _() {';
const editsOf = (text, redeclares) => {
    const starts = [0];
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
        starts.push(at + 1);
    }
    const place = ({line, column}) => starts[line - 1] + column - (line === 1 ? kHead.length : 0);
    const edits = [];
    const visit = (node, isTop) => {
        if (node === null || typeof node !== 'object') {
            return;
        }
        if (Array.isArray(node)) {
            node.forEach((inner) => visit(inner, isTop));
            return;
        }
        if (/Function/.test(node.type) || node.type === 'ClassMethod') {
            return;
        }
        if (node.type === 'UnaryExpression' && node.operator === 'await') {
            const from = place(node.loc.start);
            edits.push({at: from, cut: 'await'.length, put: '__freshetAwait('}, {at: place(node.argument.loc.end), cut: 0, put: ')'});
        }
        const loop = node.type === 'ForOfStatement' ? /^for\s+await/.exec(text.slice(place(node.loc.start))) : null;
        if (loop !== null) {
            edits.push({at: place(node.loc.start), cut: loop[0].length, put: 'for'},
                       {at: place(node.right.loc.start), cut: 0, put: '__freshetWalk('}, {at: place(node.right.loc.end), cut: 0, put: ')'});
        }
        if (isTop && redeclares && node.type === 'VariableDeclaration' && node.kind !== 'var') {
            edits.push({at: place(node.loc.start), cut: node.kind.length, put: 'var'});
        }
        if (isTop && redeclares && /^Class(Statement|Declaration)$/.test(node.type)) {
            edits.push({at: place(node.loc.start), cut: 0, put: `var ${node.id.name} = `});
        }
        for (const [name, inner] of Object.entries(node)) {
            if (name !== 'loc') {
                visit(inner, false);
            }
        }
    };
    visit(parse(kHead + text + '\n}').body[0].body.body, true);
    return edits;
};
const rewritten = (text, redeclares) => {
    const edits = editsOf(text, redeclares).map((edit, order) => ({...edit, order})).sort((a, b) => b.at - a.at || b.order - a.order);
    return edits.reduce((out, {at, cut, put}) => out.slice(0, at) + put + out.slice(at + cut), text);
};
const prepared = (text, redeclares) => {
    if (/^\s*\{/.test(text) && !/;\s*$/.test(text) && canParse(`(${text}\n)`)) {
        return `(${text}\n)`;  // an object rather than a block
    }
    const wantsAwait = /\bawait\b/.test(text) && !canParse(text);
    if (!wantsAwait && !(redeclares && /\b(let|const|class)\b/.test(text))) {
        return text;
    }
    try {
        return rewritten(text, redeclares);
    } catch (error) {
        return text;  // its own error is the one to show
    }
};
// Where a text is wrong: the lines around the place, with a mark under it. Lines and columns as mongosh counts them.
const kLinesBefore = 2;
const kLinesAfter = 3;
const frameOf = (text, {lineNumber, columnNumber}) => {
    const lines = text.split('\n');
    const first = Math.max(1, lineNumber - kLinesBefore);
    const last = Math.min(lines.length, lineNumber + kLinesAfter);
    const width = String(last).length;
    const rows = [];
    for (let at = first; at <= last; ++at) {
        const number = String(at).padStart(width);
        rows.push(`${at === lineNumber ? '>' : ' '} ${number} | ${lines[at - 1]}`.trimEnd());
        if (at === lineNumber) {
            rows.push(`  ${' '.repeat(width)} | ${lines[at - 1].slice(0, columnNumber).replace(/[^\t]/g, ' ')}^`);
        }
    }
    return rows.join('\n');
};
const kFrame = Symbol('frame');
const run = (text, fileName) => {
    try {
        return native.evaluate(text, fileName);
    } catch (error) {
        if (error instanceof SyntaxError && error.lineNumber > 0 && !canParse(text)) {
            const place = ` (${error.lineNumber}:${error.columnNumber})`;
            const file = /[/.]/.test(fileName) ? fileName + ': ' : '';
            Object.defineProperty(error, kFrame, {value: {file, rest: `${place}\n\n${frameOf(text, error)}`}});
        }
        throw error;
    }
};
library.evaluate = (text, fileName, redeclares) => {
    const value = library.await(run(prepared(text, redeclares), fileName));
    library.runTimers();
    return value;
};

// False when more lines are needed. Called with the text typed so far.
library.isComplete = (text) => {
    if (library.commandOf(text) !== undefined) {
        return true;
    }
    return native.isComplete(/\bawait\b/.test(text) ? text.replace(/\bfor\s+await\b/g, 'for').replace(/\bawait\b/g, 'void ') : text);
};

// Showing

// A value that is shown to its last level, as plans are.
const kWhole = Symbol('whole');
library.wholly = (value) => Object.defineProperty(value, kWhole, {value: true});
library.print = (text) => host.print(text + '\n');
library.isColourful = false;
library.inspectOptions = () => ({depth: library.settings.inspectDepth, compact: library.settings.inspectCompact, colors: library.isColourful});
const settled = (value) => value instanceof library.CommandCursor && value[library.kSettle] !== undefined
    ? value[library.kSettle]() : value;
const shown = (raw) => {
    const value = settled(raw);
    if (value instanceof library.CommandCursor) {
        const documents = value.screen();
        const text = documents.length === 0 ? '' : library.display(documents, library.inspectOptions());
        return text + (library.currentCursor === value ? '\nType "it" for more' : '');
    }
    const isWhole = value !== null && typeof value === 'object' && value[kWhole] === true;
    return library.display(value, isWhole ? {...library.inspectOptions(), depth: null} : library.inspectOptions());
};
const shownAsJson = (raw, style) => {
    const value = settled(raw);
    const plain = value instanceof library.CommandCursor ? value.toArray()
        : value !== null && typeof value === 'object' && typeof value[library.kInspect] === 'function' ? library.display(value) : value;
    return EJSON.stringify(plain, null, 2, {relaxed: style !== 'canonical'});
};
library.tellError = (error, mode) => {
    const isError = error instanceof Error;
    if (mode.json !== '') {
        const fields = isError ? {...error, message: error.message, stack: String(error.stack), name: error.name} : {message: String(error)};
        library.print(EJSON.stringify(fields, null, 2, {relaxed: mode.json !== 'canonical'}));
    } else if (!isError) {
        host.printError(`${mode.interactive ? 'Uncaught ' : ''}${library.display(error)}\n`);
    } else {
        const result = error.result !== undefined && error.writeErrors !== undefined
            ? `\nResult: ${library.inspect(error.result)}\nWrite Errors: ${library.inspect(error.writeErrors.map(({err, ...rest}) => rest))}` : '';
        const stack = library.stackOf(error);
        const tells = library.settings.showStackTraces || (mode.fileName === 'file' && !error.name.startsWith('Mongo'));
        const where = tells && stack !== '' ? '\n' + stack : '';
        const frame = error[kFrame];
        // Scripts know our own errors under mongosh's names; people would look for mongosh.
        const text = frame !== undefined ? `${error.name}: ${frame.file}${error.message}${frame.rest}`
            : (mode.interactive ? library.errorText(error) : `${error.name}: ${error.message}`).replace(/^Mongosh/, '');
        host.printError(`${mode.interactive ? 'Uncaught ' : ''}${text}${frame === undefined ? where : ''}${result}\n`);
    }
};

// At a terminal, `_` is the last value, unless the user gives it another meaning.
const last = {value: undefined};
library.keepLast = (value) => {
    const own = Object.getOwnPropertyDescriptor(globalThis, '_');
    if (own === undefined || own.get === last.get) {
        last.value = value;
        Object.defineProperty(globalThis, '_', {get: last.get, set: last.set, configurable: true, enumerable: false});
    }
};
last.get = () => last.value;
last.set = (value) => Object.defineProperty(globalThis, '_', {value, writable: true, configurable: true, enumerable: true});

// What the history keeps of a line, how many lines, and whether lines that may contain a password
// are kept too.
const kRedactions = [
    [/mongodb(\+srv)?:\/\/[^\s'"`]+/gi, '<mongodb uri>'],
    [/\b(https?|ftp):\/\/[^\s'"`]+/gi, '<url>'],
    [/[\w.+-]{1,64}@[\w-]+(\.[\w-]+)+/g, '<email>'],
    [/\b\d{1,3}(\.\d{1,3}){3}\b/g, '<ip address>'],
    [/(\/(home|Users|root|var|tmp|opt|etc)|[A-Za-z]:\\)[^\s'"`]*/g, '<path>'],
];
library.historyOf = (line) => {
    const {redactHistory, historyLength} = library.settings;
    const text = redactHistory !== 'remove-redact' ? line
        : kRedactions.reduce((out, [pattern, mark]) => out.replace(pattern, mark), line);
    return {text, lines: Math.min(historyLength, 2 ** 31 - 1), keepsSecrets: redactHistory === 'keep'};
};

// `mode`: {show, interactive, redeclares, json, fileName}. Returns whether it succeeded.
library.runInput = (text, mode) => {
    library.mode = mode;
    library.isColourful = mode.colours === true;
    try {
        const command = library.commandOf(text);
        const value = command !== undefined ? command() : library.evaluate(text, mode.fileName, mode.redeclares);
        if (mode.interactive && command === undefined) {
            library.keepLast(value);
        }
        if (mode.show && value !== undefined) {
            library.print(mode.json !== '' ? shownAsJson(value, mode.json) : shown(value));
        }
        return true;
    } catch (error) {
        library.tellError(error, mode);
        return false;
    }
};

// The current database

const defineDb = (database) => {
    Object.defineProperty(globalThis, 'db', {value: database, writable: true, configurable: true, enumerable: true});
};
library.attach = (connection, name, isConnected) => {
    library.isConnected = isConnected;
    library.mongo = new library.Mongo(undefined, connection);
    defineDb(library.mongo.getDB(name));
};
library.databaseName = () => globalThis.db !== undefined && typeof db.getName === 'function' ? db.getName() : '';
library.use = (name) => {
    defineDb(db.getSiblingDB(name));
    return 'switched to db ' + name;
};
library.prompt = () => {
    const own = globalThis.prompt;
    const text = typeof own === 'function' ? library.await(own()) : own;
    const name = library.isConnected || db.getMongo() !== library.mongo ? library.databaseName() : '';
    return text !== undefined ? String(text) : name === '' ? '> ' : [db.getMongo().standing(), `${name}> `].filter(Boolean).join(' ');
};
library.makeMode = (options) => ({show: true, interactive: false, redeclares: false, colours: false, json: '', fileName: 'shell', ...options});

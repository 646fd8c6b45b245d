// SPDX-License-Identifier: Apache-2.0
// The commands that are not JavaScript: use, show, it, help, exit and cls.
'use strict';

const bytesText = (bytes) => {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
    let unit = 0;
    let value = Number(bytes);
    while (value >= 1024 && unit < units.length - 1) {
        value /= 1024;
        ++unit;
    }
    return unit === 0 ? `${value} B` : `${value.toFixed(2)} ${units[unit]}`;
};
library.columns = (rows, aligns) => {
    const widths = rows[0] === undefined ? [] : rows[0].map((_, at) => Math.max(...rows.map((row) => String(row[at]).length)));
    return rows.map((row) => row.map((cell, at) => aligns[at] === 'r' ? String(cell).padStart(widths[at])
        : String(cell).padEnd(widths[at])).join('  ').trimEnd()).join('\n');
};

// A line of the server's log, without the parts that few users want.
const warningOf = (line) => {
    try {
        const {t, msg} = JSON.parse(line);
        return `${t.$date}: ${msg}`;
    } catch (error) {
        return line;
    }
};
// Shown when a session at a terminal begins. No message when the user may not read the log.
library.greet = () => {
    try {
        return show.startupWarnings();
    } catch (error) {
        return undefined;
    }
};

const show = {
    dbs() {
        const rows = db.adminCommand({listDatabases: 1}).databases.sort((a, b) => a.name < b.name ? -1 : 1)
            .map(({name, sizeOnDisk, empty}) => [name, empty && !sizeOnDisk ? '0 B' : bytesText(sizeOnDisk)]);
        return library.columns(rows, ['l', 'r']);
    },
    collections() {
        const kinds = {view: '[view]', timeseries: '[time-series]'};
        return db.getCollectionInfos({}, {nameOnly: true, authorizedCollections: true})
            .sort((a, b) => a.name < b.name ? -1 : 1)
            .map(({name, type}) => kinds[type] === undefined ? name : `${name}  ${kinds[type]}`).join('\n');
    },
    users() { return db.getUsers().users; },
    roles() { return db.getRoles({showBuiltinRoles: true}).roles; },
    profile() {
        const profile = db.getCollection('system.profile');
        const entries = profile.find({millis: {$gt: 0}}).sort({$natural: -1}).limit(5).toArray();
        if (entries.length === 0) {
            const all = profile.countDocuments({});
            const raw = 'Use db.getCollection("system.profile").find() to show raw profile entries.';
            return all === 0 ? `db.system.profile is empty.\nUse db.setProfilingLevel(2) to enable profiling.\n${raw}`
                : `Of the ${all} operations in db.system.profile none took a millisecond.\n${raw}`;
        }
        return entries.map((entry) => `${entry.op}\t${entry.ns} ${entry.millis}ms ${entry.ts.toString()}\n` +
            library.display(entry)).join('\n\n');
    },
    logs() { return db.adminCommand({getLog: '*'}).names.join('\n'); },
    log(name = 'global') { return db.adminCommand({getLog: name}).log.join('\n'); },
    startupWarnings() {
        const lines = db.adminCommand({getLog: 'startupWarnings'}).log.map(warningOf);
        return lines.length === 0 ? undefined
            : ['------', '   The server generated these startup warnings when booting', ...lines.map((line) => '   ' + line), '------'].join('\n');
    },
};
Object.assign(show, {databases: show.dbs, tables: show.collections});
library.show = show;
library.showWhat = (what) => {
    const [name, ...rest] = what.split(/\s+/);
    if (!Object.hasOwn(show, name)) {
        throw library.invalid(`'${name}' is not a valid argument for "show".`);
    }
    return show[name](...rest);
};

const leave = (code) => host.quit(code === undefined ? 0 : Number(code));
const screen = () => {
    if (library.currentCursor === undefined) {
        return 'no cursor';
    }
    return library.currentCursor;
};
const kWords = {
    use(name) {
        if (!/^\S+$/.test(name)) {
            throw library.invalid('use needs the name of one database');
        }
        return library.use(name.replace(/^(['"])(.*)\1$/, '$2'));
    },
    show: (what) => library.showWhat(what),
    it: () => screen(),
    help: (what) => library.help(what),
    '.help': () => library.help(),
    '.clear': () => undefined,
    '.break': () => undefined,
    exit: leave,
    quit: leave,
    '.exit': leave,
    edit: (what) => library.edit(what),
    cls() {
        globalThis.cls();
    },
};
library.commandWords = Object.keys(kWords);

// Opens an editor with the text edited last, with the source of a name, which then gets the result,
// or with the given text. The edited text is shown and run.
let lastEdited = '';
const sourceOf = (value) => typeof value === 'function' ? value.toString() : library.tojson(value);
library.edit = (what) => {
    if (!library.mode.interactive) {
        throw library.invalid('edit needs a terminal');
    }
    const editor = library.settings.editor || host.environment('VISUAL') || host.environment('EDITOR');
    if (!editor) {
        throw library.invalid('no editor is known: config.set("editor", "vi") or the environment variable EDITOR names one');
    }
    const isName = /^[A-Za-z_$][\w$]*$/.test(what) && globalThis[what] !== undefined;
    const before = isName ? sourceOf(globalThis[what]) : what === '' ? lastEdited : what;
    const text = host.edit(editor, before).trim();
    if (text === '') {
        return undefined;
    }
    lastEdited = text;
    library.print(text);
    return library.evaluate(isName ? `${what} = (${text.replace(/;$/, '')}\n)` : text, 'edit', library.mode.redeclares);
};

// The function for the command in the text, if it is such a command.
library.commandOf = (text) => {
    const words = /^\s*(\.?[a-z]+)\b\s*([^\n]*?)\s*;?\s*$/.exec(text);
    if (words === null || !Object.hasOwn(kWords, words[1]) || /^[=(.[+,]/.test(words[2])) {
        return undefined;
    }
    if (!['use', 'show', 'help', 'exit', 'quit', 'edit'].includes(words[1]) && words[2] !== '') {
        return undefined;
    }
    return () => kWords[words[1]](words[2]);
};

const lines = (rows) => library.columns(rows.map((row) => ['  ' + row[0], row[1]]), ['l', 'l']);
const methodsOf = (type, title) => library.helpOf(type.prototype, title);
// Methods for the shell's own use: neither help nor Tab lists them.
const kInternal = Symbol('internal');
for (const [type, names] of [
    [library.Collection, 'acknowledged aggregateTarget changeIndex delete1 findAndChange operators run update1 write'],
    [library.CommandCursor, 'fill isOpenThere more open option screen take take1'], [library.FindCursor, 'findCommand part'],
    [library.Mongo, 'follow run standing takeOptions withDefaults'], [library.Session, 'finish link stamp'], [library.Explainable, 'run'],
    [library.Bulk, 'add']]) {
    Object.defineProperty(type.prototype, kInternal, {value: new Set(names.split(' '))});
}
library.publicNames = (object) => Object.getOwnPropertyNames(object).filter(
    (name) => name !== 'constructor' && !(Object.hasOwn(object, kInternal) && object[kInternal].has(name)));
// Help on an object's methods, its own and those of its classes.
library.helpOf = (object, title) => {
    const names = new Set();
    for (let at = object; at !== Object.prototype; at = Object.getPrototypeOf(at)) {
        library.publicNames(at).filter((name) => name !== 'help' && /^[a-z]/.test(name))
            .forEach((name) => names.add(name));
    }
    const sorted = [...names].sort();
    const sentences = object.constructor === undefined ? undefined : library.methodHelp[object.constructor.name];
    if (sentences !== undefined) {
        return `${title}\n\n${lines(sorted.map((name) => [name, sentences[name] || '']))}`;
    }
    const rows = [];
    for (let at = 0; at < sorted.length; at += 4) {
        rows.push([0, 1, 2, 3].map((column) => sorted[at + column] || ''));
    }
    return `${title}\n\n${library.columns(rows.map(([first, ...rest]) => ['  ' + first, ...rest]), ['l', 'l', 'l', 'l'])}`;
};
library.help = (what) => {
    switch (what) {
        case 'db':
            return methodsOf(library.Database, 'Methods of a database:');
        case 'collection':
            return methodsOf(library.Collection, 'Methods of a collection:');
        case 'cursor':
            return methodsOf(library.FindCursor, 'Methods of a cursor:');
        default:
            return 'Commands:\n\n' + lines([
                ['use <db>', 'go to that database'],
                ['show dbs', 'databases and their sizes'],
                ['show collections', 'collections of this database'],
                ['show users, show roles', 'users and roles of this database'],
                ['show profile', 'slow operations, once profiling is on'],
                ['show log [name], show logs', 'what the server logged last'],
                ['it', 'the next screenful of the last cursor'],
                ['{"<command>": ...}', 'a server command as Extended JSON; the reply in Extended JSON'],
                ['edit, edit <name>', 'an editor for more than a line'],
                ['.editor', 'more than a line at once, ended by Ctrl-D'],
                ['help db, collection, cursor', 'their methods; rs.help(), sh.help() and others'],
                ['exit, quit(code)', 'leave; so does Ctrl-D'],
            ]) + '\n\nAll else is JavaScript: db.people.find({age: {$gt: 30}}).sort({name: 1}).table()';
    }
};
for (const [type, title] of [[library.Mongo, 'Methods of a connection:'], [library.Session, 'Methods of a session:'],
                             [library.PlanCache, 'Methods of a plan cache:'], [library.Bulk, 'Methods of a bulk write:']]) {
    type.prototype.help = () => library.helpOf(type.prototype, title);
}
for (const type of [library.Database, library.Collection, library.FindCursor]) {
    type.prototype.help = () => library.help({Database: 'db', Collection: 'collection'}[type.name] || 'cursor');
}
library.CommandCursor.prototype.help = () => library.helpOf(library.CommandCursor.prototype, 'Methods of a cursor:');

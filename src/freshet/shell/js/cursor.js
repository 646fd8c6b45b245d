// SPDX-License-Identifier: Apache-2.0
// Cursors: those of find, which can be modified until the first document is read, and those of
// commands that return one.
'use strict';

class CommandCursor {
    // `command`: a function that returns the first command, called when the first document is read.
    constructor(mongo, database, command) {
        library.put(this, {mongo, database, command, id: undefined, batch: [], at: 0, collection: '', closed: false,
                           transform: undefined, getMoreOptions: {}, batchBytes: 0});
    }
    open() {
        if (this.id === undefined) {
            this.take(library.checkReply(this.mongo.run(this.database, this.command())), 'firstBatch');
        }
    }
    take(reply, name) {
        const {cursor} = reply;
        this.id = cursor.id;
        this.collection = cursor.ns.slice(cursor.ns.indexOf('.') + 1);
        this.batch = cursor[name];
        this.at = 0;
        this.postBatchResumeToken = cursor.postBatchResumeToken;
    }
    isOpenThere() { return this.id !== undefined && Number(this.id) !== 0; }
    more() {
        const command = {getMore: this.id instanceof Long ? this.id : Long(this.id), collection: this.collection,
                         ...this.getMoreOptions};
        try {
            this.take(library.checkReply(this.mongo.run(this.database, command)), 'nextBatch');
        } catch (error) {
            this.id = 0;
            throw error;
        }
    }
    // Whether there is a document; a tailing cursor asks the server once.
    fill(tries) {
        if (this.closed) {
            return false;
        }
        this.open();
        while (this.at >= this.batch.length && this.isOpenThere() && tries-- > 0) {
            this.more();
        }
        return this.at < this.batch.length;
    }
    hasNext() { return this.fill(Infinity); }
    take1() {
        const document = this.batch[this.at];
        this.batch[this.at++] = undefined;  // frees it: it may be large
        return this.transform === undefined ? document : this.transform(document);
    }
    next() { return this.hasNext() ? this.take1() : null; }
    tryNext() { return this.fill(1) ? this.take1() : null; }
    toArray() {
        const all = [];
        while (this.hasNext()) {
            all.push(this.take1());
        }
        return all;
    }
    forEach(action) {
        while (this.hasNext()) {
            if (library.await(action(this.take1())) === false) {
                break;
            }
        }
    }
    map(transform) {
        const before = this.transform;
        this.transform = before === undefined ? transform : (document) => transform(before(document));
        return this;
    }
    itcount() {
        let count = 0;
        while (this.hasNext()) {
            this.take1();
            ++count;
        }
        return count;
    }
    objsLeftInBatch() {
        this.open();
        return this.batch.length - this.at;
    }
    isClosed() { return this.closed || (this.id !== undefined && !this.isOpenThere()); }
    isExhausted() { return this.isClosed() && this.objsLeftInBatch() === 0; }
    close() {
        if (!this.closed && this.isOpenThere()) {
            this.mongo.run(this.database, {killCursors: this.collection, cursors: [this.id]});
        }
        this.closed = true;
    }
    getId() {
        this.open();
        return this.id;
    }
    pretty() { return this; }
    batchSize(size) {
        this.getMoreOptions.batchSize = size;
        return this;
    }
    maxTimeMS(ms) { return this.option('maxTimeMS', ms); }
    option(name, value) {
        const before = this.command;
        this.command = () => ({...before(), [name]: value});
        return this;
    }
    comment(value) { return this.option('comment', value); }
    *[Symbol.iterator]() {
        while (this.hasNext()) {
            yield this.take1();
        }
    }
    // The next screenful, as mongosh shows it.
    screen() {
        const documents = [];
        const size = library.settings.displayBatchSize;
        while (documents.length < size && this.hasNext()) {
            documents.push(this.take1());
        }
        library.currentCursor = this.hasNext() ? this : undefined;
        return documents;
    }
    table() {
        library.print(library.tableOf(this.toArray()));
    }
    csv() {
        library.print(library.csvOf(this.toArray()));
    }
}
library.CommandCursor = CommandCursor;

class FindCursor extends CommandCursor {
    constructor(collection, filter, projection, options = {}) {
        super(collection.mongo, collection.database.getName(), () => this.findCommand());
        library.put(this, {of: collection, filter: filter === undefined ? {} : filter, parts: {}, isTailable: false});
        if (projection !== undefined && projection !== null) {
            this.parts.projection = projection;
        }
        for (const [name, value] of Object.entries(options)) {
            if (value !== undefined) {
                this.parts[name] = value;
            }
        }
        if (collection.mongo.readConcern !== undefined && this.parts.readConcern === undefined) {
            this.parts.readConcern = collection.mongo.readConcern;
        }
    }
    findCommand() {
        const {explain, readPreference, ...parts} = this.parts;
        if (parts.limit < 0) {
            parts.limit = -parts.limit;
            parts.singleBatch = true;
        }
        return {find: this.of.getName(), filter: this.filter, ...parts};
    }
    part(name, value) {
        if (this.id !== undefined) {
            throw library.invalid('a cursor cannot be changed once it has been read from');
        }
        if (value !== undefined) {
            this.parts[name] = value;
        }
        return this;
    }
    sort(keys) { return this.part('sort', keys); }
    limit(count) { return this.part('limit', count); }
    skip(count) { return this.part('skip', count); }
    projection(fields) { return this.part('projection', fields); }
    hint(index) { return this.part('hint', index); }
    collation(value) { return this.part('collation', value); }
    comment(value) { return this.part('comment', value); }
    min(bound) { return this.part('min', bound); }
    max(bound) { return this.part('max', bound); }
    maxTimeMS(ms) { return this.part('maxTimeMS', ms); }
    maxAwaitTimeMS(ms) {
        this.getMoreOptions.maxTimeMS = ms;
        return this;
    }
    batchSize(size) {
        super.batchSize(size);
        return this.part('batchSize', size);
    }
    returnKey(yes = true) { return this.part('returnKey', yes); }
    showRecordId(yes = true) { return this.part('showRecordId', yes); }
    allowDiskUse(yes = true) { return this.part('allowDiskUse', yes); }
    allowPartialResults() { return this.part('allowPartialResults', true); }
    noCursorTimeout() { return this.part('noCursorTimeout', true); }
    oplogReplay() { return this; }
    tailable({awaitData = false} = {}) { return this.part('tailable', true).part('awaitData', awaitData || undefined); }
    addOption(bits) {
        return this.part('tailable', (bits & 2) !== 0 || undefined).part('noCursorTimeout', (bits & 16) !== 0 || undefined)
            .part('awaitData', (bits & 32) !== 0 || undefined);
    }
    readConcern(level) { return this.part('readConcern', {level}); }
    readPref(mode, tags) { return this.part('$readPreference', tags === undefined ? {mode} : {mode, tags}); }
    let(variables) { return this.part('let', variables); }
    modifiers() { return this.parts; }
    getQueryPlan() { return this.explain(); }
    hasNext() { return this.parts.tailable ? this.fill(1) : super.hasNext(); }
    // The number of all matching documents; limit and skip do not count, as always.
    count() {
        const {hint, collation, maxTimeMS} = this.parts;
        return library.checkReply(this.mongo.run(this.database, library.defined(
            {count: this.of.getName(), query: this.filter, hint, collation, maxTimeMS}))).n;
    }
    size() {
        const {hint, collation, maxTimeMS, limit, skip} = this.parts;
        return library.checkReply(this.mongo.run(this.database, library.defined(
            {count: this.of.getName(), query: this.filter, hint, collation, maxTimeMS, limit, skip}))).n;
    }
    length() { return this.toArray().length; }
    explain(verbosity) {
        return library.wholly(library.checkReply(this.mongo.run(this.database, {
            explain: this.findCommand(), verbosity: library.verbosity(verbosity)})));
    }
}
library.FindCursor = FindCursor;

library.verbosity = (value) => value === undefined || value === false ? 'queryPlanner'
    : value === true ? 'allPlansExecution' : value;
// A copy without the fields that are undefined.
library.defined = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
library.defaultSettings = {displayBatchSize: 20, inspectDepth: 6, inspectCompact: 3, enableTelemetry: false, historyLength: 1000,
                    showStackTraces: false, redactHistory: 'remove', editor: null, maxTimeMS: null,
                    disableSchemaSampling: false};
library.settings = {...library.defaultSettings};

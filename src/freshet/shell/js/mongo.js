// SPDX-License-Identifier: Apache-2.0
// Mongo: a connection. All commands of a shell are sent through Mongo.run().
'use strict';

const kNetwork = ['Unavailable', 'Io', 'Timeout', 'Cancelled'];
const asMongoError = (error) => {
    if (kNetwork.includes(error.status)) {
        return new library.MongoNetworkError(error.message);
    }
    return /Authentication failed/.test(error.message)
        ? new library.MongoServerError('Authentication failed.', {ok: 0, code: 18, codeName: 'AuthenticationFailed'}) : error;
};
const guarded = library.guarded = (call) => {
    try {
        return call();
    } catch (error) {
        throw asMongoError(error);
    }
};

// The commands to which config.set('maxTimeMS') applies.
const kBounded = new Set(['aggregate', 'count', 'distinct', 'find', 'findAndModify', 'insert', 'update', 'delete', 'createIndexes', 'mapReduce']);

const kGreetings = new Set(['hello', 'isMaster', 'ismaster']);
const kSetChanges = new Set(['replSetInitiate', 'replSetReconfig', 'replSetStepDown']);

class Mongo {
    constructor(uri, existing) {
        library.put(this, existing || guarded(() => host.connect(uri === undefined ? '' : String(uri))));
        library.put(this, {databases: new Map(), readPreference: undefined, writeConcern: undefined, readConcern: undefined});
        this.takeOptions(this.options || {});
    }
    // The connection string's options for commands.
    takeOptions({readpreference, readpreferencetags, readconcernlevel, w, wtimeoutms, journal}) {
        if (readpreference !== undefined && readpreference !== 'primary') {
            const tags = readpreferencetags === undefined ? undefined
                : [Object.fromEntries(readpreferencetags.split(',').map((pair) => pair.split(':')))];
            this.setReadPref(readpreference, tags);
        }
        if (readconcernlevel !== undefined) {
            this.setReadConcern(readconcernlevel);
        }
        if (w !== undefined || wtimeoutms !== undefined || journal !== undefined) {
            this.writeConcern = library.defined({w: /^\d+$/.test(w) ? Number(w) : w, j: journal === undefined ? undefined : journal === 'true',
                                                 wtimeout: wtimeoutms === undefined ? undefined : Number(wtimeoutms)});
        }
    }
    // The reply, also when the command failed.
    run(database, command) {
        if (this.handle === 0 && !library.isConnected) {
            throw library.invalid('[SHAPI-10004] No connected database');
        }
        const reply = guarded(() => host.run(this.handle, database, this.withDefaults(command)));
        this.follow(Object.keys(command)[0], reply);
        return reply;
    }
    // The prompt shows the set's state from the server's last reply, or from its reply after a
    // change.
    follow(name, reply) {
        if (reply.ok && kGreetings.has(name)) {
            this.member = reply;
        } else if (reply.ok && kSetChanges.has(name)) {
            this.member = guarded(() => host.run(this.handle, 'admin', {hello: 1}));
        }
    }
    // "rs0 [direct: primary]", or "" for a server that is not in a set.
    standing() {
        const {setName, isWritablePrimary, ismaster, secondary, arbiterOnly, msg} = this.member || {};
        if (setName === undefined && msg !== 'isdbgrid') {
            return '';
        }
        const state = setName === undefined ? 'mongos' : isWritablePrimary || ismaster ? 'primary' : secondary ? 'secondary'
            : arbiterOnly ? 'arbiter' : 'other';
        return `${setName === undefined ? '' : setName + ' '}[${this.isDirect ? 'direct: ' : ''}${state}]`;
    }
    withDefaults(given) {
        const [name] = Object.keys(given);
        const ms = library.settings.maxTimeMS;
        const command = ms !== null && kBounded.has(name) && given.maxTimeMS === undefined ? {...given, maxTimeMS: ms} : given;
        if (this.readPreference === undefined || command.$readPreference !== undefined) {
            return command;
        }
        return {...command, $readPreference: this.readPreference};
    }
    getDB(name) {
        if (typeof name !== 'string' || name === '' || /[\s/\\."$\0]/.test(name.replace(/^\$external$/, ''))) {
            throw library.invalid(`[COMMON-10001] Invalid database name: ${name}`);
        }
        if (!this.databases.has(name)) {
            this.databases.set(name, library.makeDatabase(this, name));
        }
        return this.databases.get(name);
    }
    getCollection(namespace) {
        const dot = namespace.indexOf('.');
        return this.getDB(namespace.slice(0, dot)).getCollection(namespace.slice(dot + 1));
    }
    getURI() { return this.uri; }
    getDBs() { return this.adminCommand({listDatabases: 1}); }
    getDBNames() { return this.getDBs().databases.map((database) => database.name); }
    adminCommand(command) { return this.getDB('admin').runCommand(command); }
    connect() {}
    close() { host.close(this.handle); }
    startSession(options) { return new library.Session(this, options || {}); }
    getReadPref() { return this.readPreference; }
    getReadPrefMode() { return this.readPreference === undefined ? 'primary' : this.readPreference.mode; }
    setReadPref(mode, tags) { this.readPreference = tags === undefined ? {mode} : {mode, tags}; }
    getReadPrefTagSet() { return this.readPreference === undefined ? undefined : this.readPreference.tags; }
    getWriteConcern() { return this.writeConcern; }
    setWriteConcern(w, wtimeout, j) { this.writeConcern = typeof w === 'object' ? w : {w, wtimeout, j}; }
    getReadConcern() { return this.readConcern && this.readConcern.level; }
    setReadConcern(level) { this.readConcern = {level}; }
    setSecondaryOk() { this.setReadPref('secondaryPreferred'); }
    setSlaveOk() { this.setSecondaryOk(); }
    getSecondaryOk() { return this.getReadPrefMode() !== 'primary'; }
    getSlaveOk() { return this.getSecondaryOk(); }
    setCausalConsistency() {
        throw new library.MongoshUnimplementedError('causal consistency is a session\'s: startSession({causalConsistency: true})');
    }
    isCausalConsistency() { return this.setCausalConsistency(); }
    logout() { return this.getDB('admin').logout(); }
    isReplicaSetMember() { return this.getDB('admin').hello().setName !== undefined; }
    watch(pipeline, options) { return this.getDB('admin').watch(pipeline, {...options, allChangesForCluster: true}); }
    [library.kInspect]() { return this.uri; }
    toString() { return 'connection to ' + this.uri; }
}
library.Mongo = Mongo;
library.put(globalThis, {
    Mongo: new Proxy(Mongo, {apply: (target, self, [uri]) => new Mongo(uri)}),
    connect(uri, user, password) {
        if (uri === undefined) {
            throw library.invalid('Missing required argument at position 0 (connect)');
        }
        const mongo = new Mongo(uri);
        const database = mongo.getDB(mongo.database);
        if (user !== undefined) {
            database.auth(user, password);
        }
        return database;
    },
});

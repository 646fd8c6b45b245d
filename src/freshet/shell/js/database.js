// SPDX-License-Identifier: Apache-2.0
// A database's methods. `db.name` is the collection unless it is the name of a method.
'use strict';

class Database {
    constructor(mongo, name) {
        library.put(this, {mongo, databaseName: name, collections: new Map(), proxy: undefined});
    }
    getName() { return this.databaseName; }
    getMongo() { return this.mongo; }
    getSession() { return this.mongo.session; }
    toString() { return this.databaseName; }
    [library.kInspect]() { return this.databaseName; }
    getSiblingDB(name) {
        return this.mongo.session === undefined ? this.mongo.getDB(name) : this.mongo.session.getDatabase(name);
    }
    getSisterDB(name) { return this.getSiblingDB(name); }
    getCollection(name) {
        if (typeof name !== 'string' || name === '') {
            throw library.invalid(`[COMMON-10001] Invalid collection name: ${name}`);
        }
        if (!this.collections.has(name)) {
            this.collections.set(name, library.makeCollection(this.proxy, name));
        }
        return this.collections.get(name);
    }

    // Commands

    runCommand(command, extra) {
        const whole = typeof command === 'string' ? {[command]: 1, ...extra} : command;
        return library.checkReply(this.mongo.run(this.databaseName, whole));
    }
    // The reply even when the command failed; null when there was none.
    tryCommand(command) { return this.mongo.run(this.databaseName, typeof command === 'string' ? {[command]: 1} : command); }
    adminCommand(command) {
        return library.checkReply(this.mongo.run('admin', typeof command === 'string' ? {[command]: 1} : command));
    }
    runReadCommand(command) { return this.runCommand(command); }
    runCursorCommand(command) { return new library.CommandCursor(this.mongo, this.databaseName, () => command); }
    aggregate(pipeline, options = {}) {
        const on = new library.Collection(this.proxy, '$cmd.aggregate');
        on.aggregateTarget = () => 1;
        return on.aggregate(pipeline, options);
    }
    watch(pipeline = [], options = {}) {
        const on = new library.Collection(this.proxy, '$cmd.aggregate');
        on.aggregateTarget = () => 1;
        return on.watch(pipeline, options);
    }

    // Collections

    getCollectionInfos(filter = {}, options = {}) {
        return new library.CommandCursor(this.mongo, this.databaseName,
                                         () => ({listCollections: 1, filter, ...options})).toArray();
    }
    getCollectionNames() {
        return this.getCollectionInfos({}, {nameOnly: true, authorizedCollections: true}).map((info) => info.name).sort();
    }
    getCollectionInfo(name) { return this.getCollectionInfos({name})[0]; }
    createCollection(name, options = {}) { return this.runCommand({create: name, ...options}); }
    createView(name, viewOn, pipeline, options = {}) {
        return this.runCommand({create: name, viewOn, pipeline: Array.isArray(pipeline) ? pipeline : [pipeline], ...options});
    }
    dropDatabase(writeConcern) {
        return {...this.runCommand(library.defined({dropDatabase: 1, writeConcern})), dropped: this.databaseName};
    }
    printCollectionStats(scale) {
        for (const name of this.getCollectionNames()) {
            library.print(`${name}\n${library.display(this.getCollection(name).stats({scale}))}\n---`);
        }
    }

    // The server

    stats(options) { return this.runCommand(library.defined({dbStats: 1, scale: typeof options === 'number' ? options : options?.scale, freeStorage: options?.freeStorage})); }
    serverStatus(options = {}) { return this.adminCommand({serverStatus: 1, ...options}); }
    serverBuildInfo() { return this.adminCommand({buildInfo: 1}); }
    serverCmdLineOpts() { return this.adminCommand({getCmdLineOpts: 1}); }
    serverBits() { return this.serverBuildInfo().bits; }
    isMaster() { return this.runCommand({isMaster: 1}); }
    hello() { return this.runCommand({hello: 1}); }
    hostInfo() { return this.adminCommand({hostInfo: 1}); }
    version() { return this.serverBuildInfo().version; }
    listCommands() { return this.runCommand({listCommands: 1}).commands; }
    commandHelp(name) { return this.runCommand({[name]: 1, help: true}).help; }
    currentOp(options = {}) {
        return this.adminCommand({currentOp: 1, ...(typeof options === 'boolean' ? {$all: options} : options)});
    }
    killOp(op) { return this.adminCommand({killOp: 1, op}); }
    fsyncLock() { return this.adminCommand({fsync: 1, lock: true}); }
    fsyncUnlock() { return this.adminCommand({fsyncUnlock: 1}); }
    shutdownServer(options = {}) {
        try {
            return this.adminCommand({shutdown: 1, ...options});
        } catch (error) {
            if (error.name !== 'MongoNetworkError') {
                throw error;
            }
            return {ok: 1};  // the server is gone
        }
    }
    setProfilingLevel(level, options = {}) {
        return this.runCommand({profile: level, ...(typeof options === 'number' ? {slowms: options} : options)});
    }
    getProfilingStatus() { return this.runCommand({profile: -1}); }
    getProfilingLevel() { return this.getProfilingStatus().was; }
    setLogLevel(level, component) {
        const path = component === undefined ? [] : component.split('.');
        const value = path.reduceRight((inner, name) => ({[name]: inner}), {verbosity: level});
        return this.adminCommand({setParameter: 1, logComponentVerbosity: value});
    }
    getLogComponents() { return this.adminCommand({getParameter: 1, logComponentVerbosity: 1}).logComponentVerbosity; }
    rotateCertificates(message) { return this.adminCommand(library.defined({rotateCertificates: 1, message})); }
    checkMetadataConsistency(options = {}) { return this.runCursorCommand({checkMetadataConsistency: 1, ...options}); }
    getFreeMonitoringStatus() { return {state: 'disabled', ok: 1}; }
    getLastErrorObj() { return this.runCommand({getLastError: 1}); }
    getLastError() { return this.getLastErrorObj().err; }
    getReplicationInfo() {
        throw library.invalid('[SHAPI-10002] Replication not detected. Are you connected to a replset?');
    }
    printReplicationInfo() { library.print(library.display(this.getReplicationInfo())); }
    printSecondaryReplicationInfo() { this.printReplicationInfo(); }
    printShardingStatus() { sh.status(); }
    printSlaveReplicationInfo() { this.printReplicationInfo(); }
    getSecondaryOk() { return this.mongo.getSecondaryOk(); }
    setSecondaryOk() { this.mongo.setSecondaryOk(); }

    // Users and roles

    createUser({user, pwd, ...rest}, writeConcern) {
        return this.runCommand(library.defined({createUser: user, pwd: pwd instanceof Object ? pwd.toString() : pwd, ...rest, writeConcern}));
    }
    updateUser(name, change, writeConcern) { return this.runCommand(library.defined({updateUser: name, ...change, writeConcern})); }
    changeUserPassword(name, pwd) { return this.runCommand({updateUser: name, pwd}); }
    dropUser(name) { return this.runCommand({dropUser: name}); }
    removeUser(name) { return this.dropUser(name); }
    dropAllUsers() { return this.runCommand({dropAllUsersFromDatabase: 1}); }
    getUser(name, options = {}) {
        const [user] = this.runCommand({usersInfo: {user: name, db: this.databaseName}, ...options}).users;
        return user === undefined ? null : user;
    }
    getUsers(options = {}) { return this.runCommand({usersInfo: 1, ...options}); }
    auth(user, pwd) {
        const given = typeof user === 'object' ? user : {user, pwd};
        const password = given.pwd === undefined ? host.askPassword('Enter password: ') : given.pwd;
        const {mongo} = this;
        library.guarded(() => host.logIn(mongo.handle, given.user, password, given.authDb || this.databaseName, given.mechanism || ''));
        return {ok: 1};
    }
    logout() { return this.runCommand({logout: 1}); }
    grantRolesToUser(name, roles) { return this.runCommand({grantRolesToUser: name, roles}); }
    revokeRolesFromUser(name, roles) { return this.runCommand({revokeRolesFromUser: name, roles}); }
    createRole({role, ...rest}) { return this.runCommand({createRole: role, ...rest}); }
    updateRole(name, change) { return this.runCommand({updateRole: name, ...change}); }
    dropRole(name) { return this.runCommand({dropRole: name}); }
    dropAllRoles() { return this.runCommand({dropAllRolesFromDatabase: 1}); }
    grantRolesToRole(name, roles) { return this.runCommand({grantRolesToRole: name, roles}); }
    revokeRolesFromRole(name, roles) { return this.runCommand({revokeRolesFromRole: name, roles}); }
    grantPrivilegesToRole(name, privileges) { return this.runCommand({grantPrivilegesToRole: name, privileges}); }
    revokePrivilegesFromRole(name, privileges) { return this.runCommand({revokePrivilegesFromRole: name, privileges}); }
    getRole(name, options = {}) {
        const [role] = this.runCommand({rolesInfo: {role: name, db: this.databaseName}, ...options}).roles;
        return role === undefined ? null : role;
    }
    getRoles(options = {}) { return this.runCommand({rolesInfo: 1, ...options}); }
}
library.Database = Database;

library.makeDatabase = (mongo, name) => {
    const database = new Database(mongo, name);
    database.proxy = new Proxy(database, {
        get: (target, key) => key in target || typeof key === 'symbol' || key.startsWith('_') || key === 'then' ||
            key === 'toBSON' || key === 'toJSON' || key === 'inspect' || key === 'constructor'
            ? target[key] : target.getCollection(key),
    });
    return database.proxy;
};

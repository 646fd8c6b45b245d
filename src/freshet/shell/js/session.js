// SPDX-License-Identifier: Apache-2.0
// Sessions and transactions. A session's databases add its id to commands, and in a transaction its
// number.
'use strict';

class Session {
    constructor(mongo, options) {
        library.put(this, {mongo, options, id: {id: UUID()}, txnNumber: 0, state: 'none', fresh: false, transaction: {},
                           databases: new Map(), ended: false, clusterTime: undefined, operationTime: undefined});
        mongo.run('admin', {startSession: 1});
    }
    // A connection whose commands carry the session's id.
    get link() {
        const session = this;
        return Object.create(this.mongo, {
            run: {value: (database, command) => session.mongo.run(database, session.stamp(command))},
            session: {value: session},
        });
    }
    stamp(command) {
        const stamped = {...command, lsid: this.id};
        if (this.state === 'in' || this.state === 'starting') {
            const {writeConcern, ...rest} = stamped;
            Object.assign(rest, {txnNumber: Long(this.txnNumber), autocommit: false});
            if (this.state === 'starting') {
                rest.startTransaction = true;
                if (this.transaction.readConcern !== undefined) {
                    rest.readConcern = this.transaction.readConcern;
                }
                this.state = 'in';
            }
            return rest;
        }
        return stamped;
    }
    getDatabase(name) {
        if (!this.databases.has(name)) {
            this.databases.set(name, library.makeDatabase(this.link, name));
        }
        return this.databases.get(name);
    }
    startTransaction(options = {}) {
        if (this.state === 'in' || this.state === 'starting') {
            throw new library.MongoTransactionError('Transaction already in progress');
        }
        this.transaction = {...this.options.defaultTransactionOptions, ...options};
        this.txnNumber += 1;
        this.state = 'starting';
    }
    finish(name) {
        if (this.state !== 'in' && this.state !== 'starting') {
            throw new library.MongoTransactionError('No transaction started');
        }
        const begun = this.state === 'in';
        this.state = 'none';
        if (!begun) {
            return {ok: 1};  // the server has not seen it
        }
        const command = {[name]: 1, lsid: this.id, txnNumber: Long(this.txnNumber), autocommit: false};
        if (this.transaction.writeConcern !== undefined) {
            command.writeConcern = this.transaction.writeConcern;
        }
        return library.checkReply(this.mongo.run('admin', command));
    }
    commitTransaction() { return this.finish('commitTransaction'); }
    abortTransaction() { return this.finish('abortTransaction'); }
    withTransaction(action, options) {
        for (let attempt = 0; ; ++attempt) {
            this.startTransaction(options);
            try {
                const result = library.await(action(this));
                if (this.state !== 'none') {
                    this.commitTransaction();
                }
                return result;
            } catch (error) {
                if (this.state !== 'none') {
                    try {
                        this.abortTransaction();
                    } catch (ignored) {
                        // the first error is the one to show
                    }
                }
                const transient = (error.errorLabels || []).includes('TransientTransactionError');
                if (!transient || attempt >= 100) {
                    throw error;
                }
            }
        }
    }
    endSession() {
        if (!this.ended) {
            this.ended = true;
            if (this.state === 'in') {
                this.abortTransaction();
            }
            this.mongo.run('admin', {endSessions: [this.id]});
        }
    }
    hasEnded() { return this.ended; }
    getSessionId() { return this.id; }
    getOptions() { return this.options; }
    getClusterTime() { return this.clusterTime; }
    getOperationTime() { return this.operationTime; }
    advanceClusterTime(time) { this.clusterTime = time; }
    advanceOperationTime(time) { this.operationTime = time; }
    [library.kInspect]() { return `ClientSession(${this.id.id.inspect()})`; }
}
library.Session = Session;

// SPDX-License-Identifier: Apache-2.0
// Many writes at once: bulkWrite and the builders. If the order matters, adjacent operations of the
// same kind share a command, otherwise all operations of one kind.
'use strict';

const kBatchMax = 100000;
const kBatchBytesMax = 40000000;

// Each is {kind, entry, index}; `entry` goes into the command's array.
const readOperation = (operation, index) => {
    const [name] = Object.keys(operation);
    const body = operation[name];
    const {filter, update, replacement, upsert, collation, arrayFilters, hint, sort} = body;
    switch (name) {
        case 'insertOne':
            return {kind: 'insert', entry: library.withId(body.document === undefined ? body : body.document), index};
        case 'updateOne':
        case 'updateMany':
            if (!Array.isArray(update) && !Object.keys(update || {})[0]?.startsWith('$')) {
                throw new library.MongoInvalidArgumentError('Update document requires atomic operators');
            }
            return {kind: 'update', index, entry: library.defined(
                {q: filter, u: update, multi: name === 'updateMany' || undefined, upsert, collation, arrayFilters, hint, sort})};
        case 'replaceOne':
            return {kind: 'update', index, entry: library.defined({q: filter, u: replacement, upsert, collation, hint, sort})};
        case 'deleteOne':
        case 'deleteMany':
            return {kind: 'delete', index, entry: library.defined({q: filter, limit: name === 'deleteOne' ? 1 : 0, collation, hint})};
        default:
            throw new library.MongoInvalidArgumentError(`bulkWrite only supports insertOne, insertMany, updateOne, updateMany, deleteOne, deleteMany: ${name}`);
    }
};

const kArrays = {insert: 'documents', update: 'updates', delete: 'deletes'};

// Divides operations into commands.
function* batches(operations, isOrdered) {
    const groups = isOrdered ? [operations] : ['insert', 'update', 'delete'].map(
        (kind) => operations.filter((operation) => operation.kind === kind));
    for (const group of groups) {
        let batch = [];
        let bytes = 0;
        for (const operation of group) {
            const size = host.bsonSize(operation.entry);
            if (batch.length > 0 && (batch[0].kind !== operation.kind || batch.length >= kBatchMax || bytes + size > kBatchBytesMax)) {
                yield batch;
                batch = [];
                bytes = 0;
            }
            batch.push(operation);
            bytes += size;
        }
        if (batch.length > 0) {
            yield batch;
        }
    }
}

const emptyResult = () => ({acknowledged: true, insertedCount: 0, insertedIds: {}, matchedCount: 0, modifiedCount: 0,
                            deletedCount: 0, upsertedCount: 0, upsertedIds: {}});

const addReply = (result, batch, reply, errors, isOrdered) => {
    const failed = new Set((reply.writeErrors || []).map((error) => error.index));
    const end = isOrdered ? Math.min(batch.length, ...failed) : batch.length;  // the later ones were not tried
    for (const error of reply.writeErrors || []) {
        const operation = batch[error.index];
        errors.push({...error, index: operation.index, op: operation.entry, err: error});
    }
    if (batch[0].kind === 'insert') {
        result.insertedCount += reply.n;
        batch.forEach((operation, at) => {
            if (at < end && !failed.has(at)) {
                result.insertedIds[operation.index] = operation.entry._id;
            }
        });
    } else if (batch[0].kind === 'delete') {
        result.deletedCount += reply.n;
    } else {
        const upserted = reply.upserted || [];
        result.matchedCount += reply.n - upserted.length;
        result.modifiedCount += reply.nModified || 0;
        result.upsertedCount += upserted.length;
        for (const {index, _id} of upserted) {
            result.upsertedIds[batch[index].index] = _id;
        }
    }
};

const execute = (collection, operations, options) => {
    const isOrdered = options.ordered !== false;
    const {ordered, ...rest} = options;
    const writeConcern = rest.writeConcern || collection.mongo.writeConcern;
    const result = emptyResult();
    const errors = [];
    let concernError;
    for (const batch of batches(operations, isOrdered)) {
        const [{kind}] = batch;
        const reply = collection.run({[kind]: collection.getName(), [kArrays[kind]]: batch.map((operation) => operation.entry),
                                      ordered: isOrdered, ...rest, writeConcern});
        addReply(result, batch, reply, errors, isOrdered);
        concernError = concernError || reply.writeConcernError;
        if (isOrdered && errors.length > 0) {
            break;
        }
    }
    if (errors.length > 0 || concernError !== undefined) {
        const first = errors[0] || concernError;
        const error = new library.MongoBulkWriteError(first.errmsg, {code: first.code, writeErrors: errors, result});
        library.put(error, {writeConcernError: concernError});
        throw error;
    }
    if (writeConcern !== undefined && writeConcern.w === 0) {
        result.acknowledged = false;
    }
    return result;
};

library.bulkWrite = (collection, operations, options) => {
    if (!Array.isArray(operations)) {
        throw new library.MongoInvalidArgumentError('Argument "operations" must be an array of documents');
    }
    if (operations.length === 0) {
        throw new library.MongoInvalidArgumentError('Invalid BulkOperation, Batch cannot be empty');
    }
    return execute(collection, operations.map(readOperation), options);
};

class Bulk {
    constructor(collection, isOrdered) {
        library.put(this, {collection, isOrdered, operations: [], done: false});
    }
    add(operation) {
        this.operations.push(readOperation(operation, this.operations.length));
        return this;
    }
    insert(document) { return this.add({insertOne: {document}}); }
    find(filter) {
        if (filter === undefined || filter === null) {
            throw library.invalid('find() requires query criteria');
        }
        return new BulkFind(this, filter);
    }
    execute(writeConcern) {
        if (this.done) {
            throw library.invalid('A bulk operation cannot be re-executed');
        }
        if (this.operations.length === 0) {
            throw new library.MongoInvalidArgumentError('Invalid BulkOperation, Batch cannot be empty');
        }
        this.done = true;
        return execute(this.collection, this.operations, library.defined({ordered: this.isOrdered, writeConcern}));
    }
    toJSON() {
        const count = (kind) => this.operations.filter((operation) => operation.kind === kind).length;
        return {nInsertOps: count('insert'), nUpdateOps: count('update'), nRemoveOps: count('delete'),
                nBatches: [...batches(this.operations, this.isOrdered)].length};
    }
    tojson() { return this.toJSON(); }
    getOperations() { return this.operations; }
    [library.kInspect](printer, level) { return 'Bulk ' + printer.value(this.toJSON(), level); }
}

class BulkFind {
    constructor(bulk, filter) { library.put(this, {bulk, filter, options: {}}); }
    option(name, value) {
        this.options[name] = value;
        return this;
    }
    upsert() { return this.option('upsert', true); }
    hint(index) { return this.option('hint', index); }
    collation(value) { return this.option('collation', value); }
    arrayFilters(filters) { return this.option('arrayFilters', filters); }
    as(name, fields) { return this.bulk.add({[name]: {filter: this.filter, ...this.options, ...fields}}); }
    updateOne(update) { return this.as('updateOne', {update}); }
    update(update) { return this.as('updateMany', {update}); }
    updateMany(update) { return this.update(update); }
    replaceOne(replacement) { return this.as('replaceOne', {replacement}); }
    deleteOne() { return this.as('deleteOne', {}); }
    delete() { return this.as('deleteMany', {}); }
    deleteMany() { return this.delete(); }
    removeOne() { return this.deleteOne(); }
    remove() { return this.delete(); }
}
library.Bulk = Bulk;

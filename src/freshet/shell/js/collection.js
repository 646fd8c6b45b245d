// SPDX-License-Identifier: Apache-2.0
// A collection's methods. `db.a.b` is the collection "a.b" unless it is the name of a method.
'use strict';

const defined = (object) => library.defined(object);
const isPlainUpdate = (update) => Array.isArray(update) || Object.keys(update)[0]?.startsWith('$');
const kWriteOptions = ['writeConcern', 'bypassDocumentValidation', 'comment', 'let', 'maxTimeMS'];
const pick = (options, names) => Object.fromEntries(
    names.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]));
// Every document gets an _id as its first field.
const withId = (document) => {
    if (document === null || typeof document !== 'object' || Array.isArray(document)) {
        throw new library.MongoInvalidArgumentError('a document must be an object');
    }
    return Object.hasOwn(document, '_id') ? document : {_id: ObjectId(), ...document};
};
library.withId = withId;
// The name of the index {a: 1, b: "text"} is a_1_b_text.
const nameOfIndex = (keys) => (Array.isArray(keys) ? keys : Object.entries(keys)).map((part) => [part].flat().join('_')).join('_');

class Collection {
    constructor(database, name) {
        library.put(this, {database, mongo: database.mongo, collectionName: name});
    }
    getName() { return this.collectionName; }
    getDB() { return this.database; }
    getMongo() { return this.mongo; }
    getFullName() { return `${this.database.getName()}.${this.collectionName}`; }
    getCollection(name) { return this.database.getCollection(`${this.collectionName}.${name}`); }
    toString() { return this.getFullName(); }
    [library.kInspect]() { return this.getFullName(); }

    // The reply of a command on this collection, checked for errors.
    run(command) { return library.checkReply(this.mongo.run(this.database.getName(), defined(command))); }
    runCommand(name, options = {}) {
        const command = typeof name === 'string' ? {[name]: this.collectionName, ...options} : name;
        return this.database.runCommand(command);
    }
    // The same for a write: its errors become exceptions.
    write(command) {
        if (command.writeConcern === undefined && this.mongo.writeConcern !== undefined) {
            command.writeConcern = this.mongo.writeConcern;
        }
        const reply = this.run(command);
        if (reply.writeErrors !== undefined && reply.writeErrors.length > 0) {
            throw library.serverError(reply.writeErrors[0]);
        }
        if (reply.writeConcernError !== undefined) {
            throw library.serverError(reply.writeConcernError);
        }
        return reply;
    }
    acknowledged(options) { return options.writeConcern === undefined || options.writeConcern.w !== 0; }

    // Reading

    find(filter, projection, options) { return new library.FindCursor(this, library.filterOf(filter), projection, options); }
    findOne(filter, projection, options) {
        const cursor = this.find(filter, projection, options).limit(-1);
        return cursor.hasNext() ? cursor.next() : null;
    }
    countDocuments(filter = {}, options = {}) {
        const {skip, limit, ...rest} = options;
        const pipeline = [{$match: filter}];
        if (skip !== undefined) {
            pipeline.push({$skip: skip});
        }
        if (limit !== undefined) {
            pipeline.push({$limit: limit});
        }
        const [group] = this.aggregate([...pipeline, {$group: {_id: 1, n: {$sum: 1}}}], rest).toArray();
        return group === undefined ? 0 : Number(group.n);
    }
    estimatedDocumentCount(options = {}) { return this.run({count: this.collectionName, ...options}).n; }
    count(query = {}, options = {}) { return this.run({count: this.collectionName, query: library.filterOf(query), ...options}).n; }
    distinct(key, query = {}, options = {}) { return this.run({distinct: this.collectionName, key, query, ...options}).values; }
    aggregate(...stages) {
        const isList = Array.isArray(stages[0]);
        const pipeline = isList ? stages[0] : stages;
        const {batchSize, explain, cursor, readConcern = this.mongo.readConcern, ...options} = (isList ? stages[1] : {}) || {};
        const size = batchSize === undefined ? cursor || {} : {batchSize};
        const command = defined({aggregate: this.aggregateTarget(), pipeline, cursor: size, readConcern, ...options});
        if (explain !== undefined && explain !== false) {
            return library.wholly(this.run({explain: command, verbosity: library.verbosity(explain)}));
        }
        const made = new library.CommandCursor(this.mongo, this.database.getName(), () => command);
        made.explain = (verbosity) => library.wholly(this.run({explain: command, verbosity: library.verbosity(verbosity)}));
        if (size.batchSize !== undefined) {
            made.getMoreOptions.batchSize = size.batchSize;
        }
        made.open();  // errors appear here, and writing stages have run
        return made;
    }
    aggregateTarget() { return this.collectionName; }
    watch(pipeline = [], options = {}) {
        const {batchSize, maxAwaitTimeMS, ...stage} = options;
        const cursor = this.aggregate([{$changeStream: stage}, ...(Array.isArray(pipeline) ? pipeline : [])], defined({batchSize}));
        if (maxAwaitTimeMS !== undefined) {
            cursor.getMoreOptions.maxTimeMS = maxAwaitTimeMS;
        }
        cursor.getResumeToken = () => cursor.postBatchResumeToken;
        return cursor;
    }
    explain(verbosity) { return new library.Explainable(this, verbosity); }

    // Writing

    insertOne(document, options = {}) {
        const whole = withId(document);
        this.write({insert: this.collectionName, documents: [whole], ...pick(options, kWriteOptions)});
        return {acknowledged: this.acknowledged(options), insertedId: whole._id};
    }
    insertMany(documents, options = {}) {
        if (!Array.isArray(documents)) {
            throw new library.MongoInvalidArgumentError('Argument "docs" must be an array of documents');
        }
        const {insertedIds} = this.bulkWrite(documents.map((document) => ({insertOne: {document}})), options);
        return {acknowledged: this.acknowledged(options), insertedIds};
    }
    update1(filter, update, options, multi) {
        const {upsert, collation, arrayFilters, hint, sort} = options;
        const reply = this.write({
            update: this.collectionName,
            updates: [defined({q: filter, u: update, multi: multi || undefined, upsert, collation, arrayFilters, hint, sort})],
            ...pick(options, kWriteOptions)});
        const upserted = reply.upserted === undefined ? undefined : reply.upserted[0];
        return {acknowledged: this.acknowledged(options), insertedId: upserted === undefined ? null : upserted._id,
                matchedCount: upserted === undefined ? reply.n : 0, modifiedCount: reply.nModified,
                upsertedCount: upserted === undefined ? 0 : 1};
    }
    updateOne(filter, update, options = {}) { return this.update1(filter, this.operators(update), options, false); }
    updateMany(filter, update, options = {}) { return this.update1(filter, this.operators(update), options, true); }
    replaceOne(filter, document, options = {}) {
        if (isPlainUpdate(document)) {
            throw new library.MongoInvalidArgumentError('Replacement document must not contain atomic operators');
        }
        return this.update1(filter, document, options, false);
    }
    operators(update) {
        if (update === undefined || update === null || !isPlainUpdate(update)) {
            throw new library.MongoInvalidArgumentError('Update document requires atomic operators');
        }
        return update;
    }
    delete1(filter, options, limit) {
        if (filter === undefined) {
            throw library.invalid('Missing required argument at position 0 (Collection.delete)');
        }
        const {collation, hint} = options;
        const reply = this.write({delete: this.collectionName, deletes: [defined({q: filter, limit, collation, hint})],
                                  ...pick(options, kWriteOptions)});
        return {acknowledged: this.acknowledged(options), deletedCount: reply.n};
    }
    deleteOne(filter, options = {}) { return this.delete1(filter, options, 1); }
    deleteMany(filter, options = {}) { return this.delete1(filter, options, 0); }
    bulkWrite(operations, options = {}) { return library.bulkWrite(this, operations, options); }
    initializeOrderedBulkOp() { return new library.Bulk(this, true); }
    initializeUnorderedBulkOp() { return new library.Bulk(this, false); }

    findAndModify({query, sort, remove, update, new: isNew, fields, upsert, ...rest} = {}) {
        return this.run({findAndModify: this.collectionName, query, sort, remove, update, new: isNew, fields, upsert, ...rest}).value;
    }
    findAndChange(filter, change, options) {
        const {returnDocument, returnNewDocument, returnOriginal, includeResultMetadata, projection, fields, ...rest} = options;
        const isNew = returnDocument === 'after' || returnNewDocument === true || returnOriginal === false || undefined;
        const reply = this.run({findAndModify: this.collectionName, query: filter, fields: projection || fields,
                                ...(change.remove ? {} : {new: isNew}), ...change, ...rest});
        return includeResultMetadata ? reply : reply.value;
    }
    findOneAndUpdate(filter, update, options = {}) { return this.findAndChange(filter, {update: this.operators(update)}, options); }
    findOneAndReplace(filter, update, options = {}) {
        if (isPlainUpdate(update)) {
            throw new library.MongoInvalidArgumentError('Replacement document must not contain atomic operators');
        }
        return this.findAndChange(filter, {update}, options);
    }
    findOneAndDelete(filter, options = {}) { return this.findAndChange(filter, {remove: true}, options); }

    // The methods that came before insertOne, updateOne and so on

    insert(documents, options = {}) {
        const {insertedIds} = this.insertMany(Array.isArray(documents) ? documents : [documents], options);
        return {acknowledged: this.acknowledged(options), insertedIds};
    }
    update(filter, update, options = {}, multi = false) {
        const all = typeof options === 'object' ? options : {upsert: options, multi};
        return this.update1(filter, update, all, all.multi === true);
    }
    remove(filter, options = {}) {
        const justOne = typeof options === 'object' ? options.justOne : options;
        return this.delete1(filter, typeof options === 'object' ? options : {}, justOne ? 1 : 0);
    }
    save(document, options = {}) {
        return document._id === undefined ? this.insertOne(document, options)
            : this.update1({_id: document._id}, document, {...options, upsert: true}, false);
    }

    // Indexes

    createIndex(keys, options = {}, commitQuorum) { return this.createIndexes([keys], options, commitQuorum)[0]; }
    createIndexes(list, options = {}, commitQuorum) {
        if (!Array.isArray(list) || list.some((keys) => keys === undefined || keys === null)) {
            throw library.invalid('[COMMON-10001] Missing required argument at position 0 (Collection.createIndexes)');
        }
        if (typeof options !== 'object') {
            throw library.invalid('The "options" argument must be an object.');
        }
        const indexes = list.map((keys) => ({key: keys, name: nameOfIndex(keys), ...options}));
        this.run({createIndexes: this.collectionName, indexes, commitQuorum});
        return indexes.map((index) => index.name);
    }
    ensureIndex(keys, options) { return this.createIndex(keys, options); }
    getIndexes() {
        return new library.CommandCursor(this.mongo, this.database.getName(), () => ({listIndexes: this.collectionName})).toArray();
    }
    getIndices() { return this.getIndexes(); }
    getIndexSpecs() { return this.getIndexes(); }
    getIndexKeys() { return this.getIndexes().map((index) => index.key); }
    dropIndex(index) {
        if (index === '*' || Array.isArray(index)) {
            throw library.invalid('To drop indexes in the collection using \'*\', use db.collection.dropIndexes().');
        }
        return this.run({dropIndexes: this.collectionName, index});
    }
    dropIndexes(index = '*') { return this.run({dropIndexes: this.collectionName, index}); }
    reIndex() { return this.run({reIndex: this.collectionName}); }
    changeIndex(index, change) {
        const chosen = typeof index === 'string' ? {name: index} : {keyPattern: index};
        return this.run({collMod: this.collectionName, index: {...chosen, ...change}});
    }
    hideIndex(index) { return this.changeIndex(index, {hidden: true}); }
    unhideIndex(index) { return this.changeIndex(index, {hidden: false}); }

    // The collection itself

    drop(options = {}) {
        const reply = this.mongo.run(this.database.getName(), {drop: this.collectionName, ...options});
        if (!reply.ok && (reply.code === 26 || reply.errmsg === 'ns not found')) {
            return false;
        }
        library.checkReply(reply);
        return true;
    }
    renameCollection(newName, dropTarget = false) {
        const to = newName.includes('.') && newName.startsWith(this.database.getName() + '.') ? newName
            : `${this.database.getName()}.${newName}`;
        return library.checkReply(this.mongo.run('admin', {renameCollection: this.getFullName(), to, dropTarget}));
    }
    exists() {
        const [info] = this.database.getCollectionInfos({name: this.collectionName});
        return info === undefined ? null : info;
    }
    stats(options = {}) {
        const scale = typeof options === 'number' ? options : options.scale;
        const stats = this.run({collStats: this.collectionName, scale});
        return Object.fromEntries(Object.entries(stats).map(
            ([name, value]) => [name, value instanceof Long ? value.toNumber() : value]));
    }
    dataSize() { return Number(this.stats().size); }
    storageSize() { return Number(this.stats().storageSize); }
    totalIndexSize() { return Number(this.stats().totalIndexSize); }
    totalSize() { return this.storageSize() + this.totalIndexSize(); }
    latencyStats(options = {}) { return this.aggregate([{$collStats: {latencyStats: options}}]).toArray(); }
    isCapped() { return this.stats().capped === true; }
    convertToCapped(size) { return this.run({convertToCapped: this.collectionName, size}); }
    validate(options = {}) {
        return this.run({validate: this.collectionName, ...(typeof options === 'boolean' ? {full: options} : options)});
    }
    mapReduce(map, reduce, options) {
        const out = typeof options === 'object' && options.out === undefined ? {inline: 1} : undefined;
        return this.run({mapReduce: this.collectionName, map, reduce, ...(typeof options === 'string' ? {out: options} : options),
                         ...(out === undefined ? {} : {out})});
    }
    getPlanCache() { return new library.PlanCache(this); }
    getSearchIndexes(name) { return this.aggregate([{$listSearchIndexes: defined({name})}]).toArray(); }
    // createSearchIndex({name, type, definition}), or (name, type, definition) without the first,
    // the second or both.
    createSearchIndex(...given) {
        const [first] = given;
        const whole = first !== null && typeof first === 'object' && first.definition !== undefined;
        const type = given.slice(1).find((each) => typeof each === 'string');
        return this.createSearchIndexes([whole ? first : defined({name: typeof first === 'string' ? first : undefined, type,
                                                                  definition: given.find((each) => typeof each === 'object')})])[0];
    }
    createSearchIndexes(indexes) {
        return this.run({createSearchIndexes: this.collectionName, indexes}).indexesCreated.map((index) => index.name);
    }
    dropSearchIndex(name) { this.run({dropSearchIndex: this.collectionName, name}); }
    updateSearchIndex(name, definition) { this.run({updateSearchIndex: this.collectionName, name, definition}); }
    getShardVersion() { return this.database.adminCommand({getShardVersion: this.getFullName()}); }
    analyzeShardKey(key, options = {}) { return this.database.adminCommand({analyzeShardKey: this.getFullName(), key, ...options}); }
    configureQueryAnalyzer(options) { return this.database.adminCommand({configureQueryAnalyzer: this.getFullName(), ...options}); }
    checkMetadataConsistency(options = {}) {
        return this.database.runCursorCommand({checkMetadataConsistency: this.collectionName, ...options});
    }
    getShardDistribution() { return this.run({collStats: this.collectionName}); }
    getWriteConcern() { return this.mongo.getWriteConcern(); }
    compact() { return this.run({compact: this.collectionName}); }
    hashAllDocs() { return this.database.runCommand({dbHash: 1, collections: [this.collectionName]}); }
}
library.Collection = Collection;

// A filter may be given as an id, or as code for $where.
library.filterOf = (filter) => filter === undefined || filter === null ? {} : filter instanceof ObjectId ? {_id: filter}
    : typeof filter === 'function' || typeof filter === 'string' ? {$where: filter} : filter;

library.makeCollection = (database, name) => new Proxy(new Collection(database, name), {
    get: (target, key) => key in target || typeof key === 'symbol' || key.startsWith('_') || key === 'then' || key === 'toBSON' ||
        key === 'toJSON' || key === 'inspect' || key === 'constructor'
        ? target[key] : target.getCollection(key),
});

class PlanCache {
    constructor(collection) { library.put(this, {collection}); }
    clear() { return this.collection.run({planCacheClear: this.collection.getName()}); }
    clearPlansByQuery(query, projection, sort) {
        return this.collection.run({planCacheClear: this.collection.getName(), query, projection, sort});
    }
    getPlansByQuery(query) { return this.list([{$match: {'createdFromQuery.query': query}}]); }
    list(pipeline = []) { return this.collection.aggregate([{$planCacheStats: {}}, ...pipeline]).toArray(); }
    [library.kInspect]() { return `PlanCache for collection ${this.collection.getName()}.`; }
}
library.PlanCache = PlanCache;

// For a value that represents another one and is shown in its place: the function that makes it.
library.kSettle = Symbol('settle');

// collection.explain(): its methods return plans instead of results.
class Explainable {
    constructor(collection, verbosity) { library.put(this, {collection, verbosity: library.verbosity(verbosity)}); }
    run(command) { return library.wholly(this.collection.run({explain: library.defined(command), verbosity: this.verbosity})); }
    find(filter, projection, options) {
        const cursor = this.collection.find(filter, projection, options);
        const {verbosity} = this;
        const finish = () => cursor.explain(verbosity);
        const proxy = new Proxy(cursor, {
            get: (target, key) => ['finish', 'next', 'explain', library.kSettle].includes(key) ? finish
                : typeof target[key] === 'function' ? (...args) => target[key](...args) === target ? proxy : target : target[key],
        });
        return proxy;
    }
    findOne(filter, projection) { return this.collection.find(filter, projection).limit(1).explain(this.verbosity); }
    aggregate(pipeline, options = {}) { return this.collection.aggregate(pipeline, {...options, explain: this.verbosity}); }
    count(query = {}) { return this.run({count: this.collection.getName(), query}); }
    distinct(key, query = {}) { return this.run({distinct: this.collection.getName(), key, query}); }
    update(q, u, options = {}) { return this.run({update: this.collection.getName(), updates: [{q, u, ...options}]}); }
    updateOne(q, u, options = {}) { return this.update(q, u, options); }
    updateMany(q, u, options = {}) { return this.update(q, u, {...options, multi: true}); }
    remove(q, options = {}) {
        const justOne = options === true || options.justOne === true;
        return this.run({delete: this.collection.getName(), deletes: [{q, limit: justOne ? 1 : 0}]});
    }
    deleteOne(q) { return this.remove(q, true); }
    deleteMany(q) { return this.remove(q); }
    findAndModify(options) { return this.run({findAndModify: this.collection.getName(), ...options}); }
    findOneAndUpdate(query, update) { return this.findAndModify({query, update}); }
    findOneAndReplace(query, update) { return this.findAndModify({query, update}); }
    findOneAndDelete(query) { return this.findAndModify({query, remove: true}); }
    getCollection() { return this.collection; }
    getVerbosity() { return this.verbosity; }
    setVerbosity(verbosity) { this.verbosity = library.verbosity(verbosity); }
    mapReduce(map, reduce, options = {}) {
        const {out = {inline: 1}, ...rest} = typeof options === 'string' ? {out: options} : options;
        return this.run({mapReduce: this.collection.getName(), map, reduce, out, ...rest});
    }
    [library.kInspect]() { return `Explainable(${this.collection.getFullName()})`; }
}
library.Explainable = Explainable;

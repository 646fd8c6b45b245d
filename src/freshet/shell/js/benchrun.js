// SPDX-License-Identifier: Apache-2.0
// benchRun(), as in the older shell: operations that several connections repeat.
'use strict';

const kOperations = {
    insert: (name, {doc, writeConcern}) => ({insert: name, writeConcern, documents: [doc].flat().map(
        (each) => Object.hasOwn(each, '_id') ? each : {_id: {'#OID': 1}, ...each})}),
    find: (name, {query = {}, filter: projection, skip, limit, sort, batchSize}) =>
        ({find: name, filter: query, projection, skip, limit, sort, batchSize}),
    findOne: (name, {query = {}, filter: projection}) => ({find: name, filter: query, projection, limit: 1, singleBatch: true}),
    update: (name, {query = {}, update, multi, upsert, writeConcern}) =>
        ({update: name, updates: [library.defined({q: query, u: update, multi, upsert})], writeConcern}),
    remove: (name, {query = {}, multi = true, writeConcern}) => ({delete: name, deletes: [{q: query, limit: multi ? 0 : 1}], writeConcern}),
    command: (name, {command}) => command,
};
Object.assign(kOperations, {query: kOperations.find, delete: kOperations.remove});
const kNames = {query: 'find', delete: 'remove'};

const operationOf = (given) => {
    if (given === null || typeof given !== 'object' || !Object.hasOwn(kOperations, given.op)) {
        throw library.invalid(`benchRun: op is one of ${Object.keys(kOperations).join(', ')}: ${library.tojson(given, '', true)}`);
    }
    const [database, ...rest] = String(given.ns).split('.');
    const kind = kNames[given.op] || given.op;
    return {kind, database, reads: kind === 'find', command: library.defined(kOperations[given.op](rest.join('.'), given))};
};

// {ops: [{op, ns, ...}], parallel, seconds, host, totals}: counts and rates of each kind of
// operation, its mean time, errors.
const benchRun = ({ops, parallel = 1, seconds = 1, host: place, totals = false} = {}) => {
    const mongo = place === undefined ? db.getMongo() : new library.Mongo('mongodb://' + place);
    const operations = (ops || []).map(operationOf);
    const run = library.guarded(() => host.runLoad(mongo.handle, {parallel, seconds, operations}));
    const took = run.elapsedMicros / 1e6;
    const result = {parallel, seconds: took, totalOps: 0, 'totalOps/s': 0, errCount: 0};
    for (const {kind, count, errors, micros} of run.operations) {
        const before = result[kind] || {count: 0, micros: 0};
        result[kind] = {count: before.count + count, micros: before.micros + micros};
        result.totalOps += count;
        result.errCount += errors;
    }
    for (const kind of new Set(operations.map((operation) => operation.kind))) {
        const {count, micros} = result[kind];
        result[kind] = totals ? count : count / took;
        result[kind + 'LatencyAverageMicros'] = count === 0 ? 0 : micros / count;
    }
    result['totalOps/s'] = result.totalOps / took;
    return run.error === '' ? result : {...result, error: run.error};
};
library.put(globalThis, {benchRun});

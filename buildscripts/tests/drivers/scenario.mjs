// SPDX-License-Identifier: Apache-2.0
// What an application does in its first hour, through the Node.js driver. Arguments: the connection string; "set" for
// what needs a replica set as well.
// Prints one line of JSON that driver_languages_test.py compares.
import {createHash} from 'node:crypto';
import {once} from 'node:events';
import {GridFSBucket, MongoClient} from 'mongodb';

const client = await new MongoClient(process.argv[2]).connect();
const db = client.db('scenario_node');
await db.dropDatabase();
const c = db.collection('c');
const result = {};

// Transactions, and a change stream that sees them.
async function follow() {
    const t = await db.createCollection('t');
    const stream = t.watch();
    await stream.tryNext();  // opens it
    await client.withSession(session => session.withTransaction(async () => {
        await t.insertOne({_id: 1, n: 1}, {session});
        await t.updateOne({_id: 1}, {$inc: {n: 1}}, {session});
    }));
    try {
        await client.withSession(session => session.withTransaction(async () => {
            await t.insertOne({_id: 2}, {session});
            throw new Error('changed my mind');
        }));
    } catch (error) {
        result.aborted = error.message;
    }
    result.kept = await t.find().toArray();
    const first = await stream.next();
    result.events = [first.operationType, (await stream.next()).operationType];
    await stream.close();
    const again = t.watch([], {resumeAfter: first._id});
    result.resumed = (await again.next()).updateDescription.updatedFields;
    await again.close();
}

const documents = Array.from({length: 1000}, (_, i) => ({_id: i, n: i % 10, text: 't' + i}));
result.inserted = (await c.insertMany(documents)).insertedCount;

const bulk = await c.bulkWrite([
    {insertOne: {document: {_id: 1000, n: 10, text: 't1000'}}},
    {updateOne: {filter: {_id: 1}, update: {$inc: {n: 100}}}},
    {updateMany: {filter: {n: 3}, update: {$set: {three: true}}}},
    {replaceOne: {filter: {_id: 2}, replacement: {n: 2, text: 'replaced'}}},
    {updateOne: {filter: {_id: 'new'}, update: {$set: {n: 11, text: 'upserted'}}, upsert: true}},
    {deleteOne: {filter: {_id: 999}}},
]);
result.bulk = [bulk.insertedCount, bulk.matchedCount, bulk.modifiedCount, bulk.upsertedCount, bulk.deletedCount];

let count = 0;
let sum = 0;
for await (const document of c.find({n: 3}).sort({_id: 1}).batchSize(7)) {
    count += 1;
    sum += document._id;
}
result.cursor = [count, sum];

await c.createIndex({text: 1}, {unique: true});
try {
    await c.insertOne({text: 't5'});
} catch (error) {
    result.duplicate = error.code;
}
result.indexes = (await c.listIndexes().toArray()).map(i => i.name).sort();
result.groups = (await c.aggregate([{$group: {_id: '$n', total: {$sum: 1}}}, {$match: {total: {$gte: 99}}}]).toArray()).length;
result.after = (await c.findOneAndUpdate({_id: 7}, {$push: {list: 'x'}}, {returnDocument: 'after'})).list;
result.distinct = (await c.distinct('n', {n: {$lt: 10}})).length;

const bytes = Buffer.alloc(700_000);
for (let i = 0; i < bytes.length; i++) {
    bytes[i] = (i * 31) % 251;
}
const bucket = new GridFSBucket(db);
const upload = bucket.openUploadStream('file');
upload.end(bytes);
await once(upload, 'finish');
const hash = createHash('sha256');
for await (const chunk of bucket.openDownloadStreamByName('file')) {
    hash.update(chunk);
}
result.gridfs = hash.digest('hex');
if (process.argv[3] === 'set') {
    await follow();
}
console.log(JSON.stringify(result));
await client.close();

// SPDX-License-Identifier: Apache-2.0
// What an application does in its first hour, through the Node.js driver. Argument: the connection string.
// Prints one line of JSON that driver_languages_test.py compares.
import {createHash} from 'node:crypto';
import {once} from 'node:events';
import {GridFSBucket, MongoClient} from 'mongodb';

const client = await new MongoClient(process.argv[2]).connect();
const db = client.db('scenario_node');
await db.dropDatabase();
const c = db.collection('c');
const result = {};

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
console.log(JSON.stringify(result));
await client.close();

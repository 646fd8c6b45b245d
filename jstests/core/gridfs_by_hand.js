// SPDX-License-Identifier: Apache-2.0
// A file in pieces, as GridFS keeps it, is put together again.
const file = ObjectId();
const bytes = 'freshet '.repeat(80000);
const size = 255 * 1024;
db.fs.files.insertOne({_id: file, length: NumberLong(bytes.length), chunkSize: size, filename: 'f', uploadDate: new Date()});
db.fs.chunks.createIndex({files_id: 1, n: 1}, {unique: true});
for (let n = 0; n * size < bytes.length; ++n) {
    db.fs.chunks.insertOne({files_id: file, n, data: BinData(0, btoa(bytes.slice(n * size, (n + 1) * size)))});
}
assert.throwsWithCode(() => db.fs.chunks.insertOne({files_id: file, n: 0}), 11000);
const read = db.fs.chunks.find({files_id: file}).sort({n: 1}).map((chunk) => atob(chunk.data.base64())).toArray().join('');
assert.eq(read.length, bytes.length);
assert(read === bytes);

// SPDX-License-Identifier: Apache-2.0
// A tailable cursor sees what comes later.
load('jstests/libs/needs.js');
needs('capped collections', () => db.createCollection('probe', {capped: true, size: 4096}));
db.createCollection('log', {capped: true, size: 4096});
db.log.insertOne({_id: 1});
const cursor = db.log.find().tailable();
assert.eq(cursor.next(), {_id: 1});
assert(!cursor.hasNext());
db.log.insertOne({_id: 2});
assert.soon(() => cursor.hasNext());
assert.eq(cursor.next(), {_id: 2});

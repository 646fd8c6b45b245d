// SPDX-License-Identifier: Apache-2.0
// One message may have 48,000,000 bytes.
load('jstests/libs/connections.js');
const documents = [1, 2, 3].map((_id) => ({_id, s: bytesOf(15900000)}));
assert.eq(db.runCommand({insert: 'c', documents}).n, 3);
assert.eq(db.c.aggregate([{$sort: {_id: 1}}, {$project: {n: {$strLenBytes: '$s'}}}]).toArray(), [1, 2, 3].map((_id) => ({_id, n: 15900000})));

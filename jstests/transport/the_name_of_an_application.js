// SPDX-License-Identifier: Apache-2.0
// The appName of a connection string is seen in currentOp.
load('jstests/libs/connections.js');
const other = connection('appName=ledger');
other.getDB(db.getName()).c.findOne();
const mine = other.getDB('admin').aggregate([{$currentOp: {idleConnections: true}}, {$match: {appName: 'ledger'}}]).toArray();
assert.eq(mine.length, 1);
assert.eq(mine[0].clientMetadata.application.name, 'ledger');
other.close();

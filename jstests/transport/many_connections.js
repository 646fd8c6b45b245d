// SPDX-License-Identifier: Apache-2.0
// Three hundred connections at once, each of use; when they are closed the server knows.
load('jstests/libs/connections.js');
const before = Number(db.serverStatus().connections.current);
const others = Array.from({length: 300}, () => connection());
others.forEach((other, number) => other.getDB(db.getName()).c.insertOne({_id: number}));
assert.gte(Number(db.serverStatus().connections.current), before + 300);
assert.eq(others[299].getDB(db.getName()).c.countDocuments({}), 300);
others.forEach((other) => other.close());
assert.soon(() => Number(db.serverStatus().connections.current) <= before);

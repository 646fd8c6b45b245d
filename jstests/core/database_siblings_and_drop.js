// SPDX-License-Identifier: Apache-2.0
// getSiblingDB() and dropDatabase().
const other = db.getSiblingDB(db.getName() + '_other');
other.c.insertOne({});
assert(db.getMongo().getDBNames().includes(other.getName()));
assert.eq(other.dropDatabase().dropped, other.getName());
assert(!db.getMongo().getDBNames().includes(other.getName()));
assert.throws(() => db.getSiblingDB('a b'));
assert.throws(() => db.getSiblingDB(''));

// SPDX-License-Identifier: Apache-2.0
// 1, 1.0 and NumberLong(1) are one key.
db.c.createIndex({a: 1}, {unique: true});
db.c.insertOne({a: 1});
for (const same of [Double(1), NumberLong(1), NumberDecimal('1.00')]) {
    assert.throwsWithCode(() => db.c.insertOne({a: same}), 11000);
}
db.c.insertOne({a: '1'});

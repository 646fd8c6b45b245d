// SPDX-License-Identifier: Apache-2.0
// An _id may be no list, no pattern and nothing with a dollar.
for (const _id of [[1], /a/, {$a: 1}]) {
    assert.throws(() => db.c.insertOne({_id}), [], tojson(_id));
}
db.c.insertOne({_id: null});
db.c.insertOne({_id: {}});
assert.eq(db.c.countDocuments({}), 2);

// SPDX-License-Identifier: Apache-2.0
// db.a.b is the collection "a.b".
db.a.b.insertOne({_id: 1});
assert.eq(db.a.b.getName(), 'a.b');
assert.eq(db.getCollection('a.b').countDocuments({}), 1);
assert.eq(db.a.getCollection('b').getFullName(), db.getName() + '.a.b');
assert.eq(db['a.b'].findOne(), {_id: 1});

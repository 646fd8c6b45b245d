// SPDX-License-Identifier: Apache-2.0
// Renaming over a collection needs dropTarget.
db.a.insertOne({_id: 'a'});
db.b.insertOne({_id: 'b'});
assert.throwsWithCode(() => db.a.renameCollection('b'), 48);
db.a.renameCollection('b', true);
assert.eq(db.b.find().toArray(), [{_id: 'a'}]);
assert.eq(db.getCollectionNames(), ['b']);
assert.throwsWithCode(() => db.none.renameCollection('x'), 26);

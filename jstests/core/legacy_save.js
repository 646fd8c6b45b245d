// SPDX-License-Identifier: Apache-2.0
// save() inserts what has no _id and replaces what has one.
db.c.save({a: 1});
const document = db.c.findOne();
document.b = 2;
db.c.save(document);
assert.eq(db.c.find().toArray(), [document]);
db.c.save({_id: 'own', c: 3});
assert.eq(db.c.count(), 2);

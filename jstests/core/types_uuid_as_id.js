// SPDX-License-Identifier: Apache-2.0
// A UUID is a key like any other.
const id = UUID('00112233-4455-6677-8899-aabbccddeeff');
db.c.insertOne({_id: id});
assert.eq(db.c.findOne({_id: UUID('00112233445566778899aabbccddeeff')})._id.toString(), '00112233-4455-6677-8899-aabbccddeeff');
assert.throwsWithCode(() => db.c.insertOne({_id: id}), 11000);
assert.neq(UUID().toString(), UUID().toString());

// SPDX-License-Identifier: Apache-2.0
// An ObjectId tells when it was made, and orders by it.
const id = ObjectId('65920080aabbccddeeff0011');
assert.eq(id.getTimestamp(), ISODate('2024-01-01T00:00:00Z'));
assert.eq([id.toString(), id.str, id.equals(ObjectId('65920080aabbccddeeff0011'))], ['65920080aabbccddeeff0011', '65920080aabbccddeeff0011', true]);
assert.lt(ObjectId('000000000000000000000000'), ObjectId());
assert.throws(() => ObjectId('xyz'));

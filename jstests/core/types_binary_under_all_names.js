// SPDX-License-Identifier: Apache-2.0
// Binary data has several makers, with new and without it; all make the same kind of value.
assert.eq(new BinData(0, 'AAE='), BinData(0, 'AAE='));
for (const value of [BinData(0, 'AAE='), HexData(0, '0001'), Binary.createFromHexString('0001', 0)]) {
    assert(value instanceof Binary && value instanceof BinData);
    assert.eq([value.sub_type, value.hex(), value.length()], [0, '0001', 2]);
}
assert(UUID() instanceof BinData);
assert.eq(MD5('00112233445566778899aabbccddeeff').sub_type, 5);
assert.eq(LegacyJavaUUID('00112233-4455-6677-8899-aabbccddeeff').hex(), '7766554433221100ffeeddccbbaa9988');
assert.eq([btoa('\x00\xff'), atob('AP8=')], ['AP8=', '\x00\xff']);
assert.throws(() => btoa('€'));

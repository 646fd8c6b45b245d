// SPDX-License-Identifier: Apache-2.0
// EJSON keeps all types, in both of its forms.
const document = {a: NumberInt(1), b: NumberLong('9007199254740993'), c: NumberDecimal('1.10'), d: ISODate('2024-01-01T00:00:00Z'),
                  e: ObjectId('65920080aabbccddeeff0011'), f: BinData(0, 'AAE='), g: /x/i, h: MinKey(), i: Timestamp(1, 2), j: null};
assert.eq(EJSON.parse(EJSON.stringify(document, {relaxed: false})), document);
assert.eq(JSON.parse(EJSON.stringify({n: NumberLong(5), d: 1.5})), {n: 5, d: 1.5});
assert.eq(EJSON.stringify({n: NumberInt(5)}, {relaxed: false}), '{"n":{"$numberInt":"5"}}');

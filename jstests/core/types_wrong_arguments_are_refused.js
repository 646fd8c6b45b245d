// SPDX-License-Identifier: Apache-2.0
// Constructors of types throw when an argument is missing or cannot be what it should, rather than make rubbish of it.
const refused = [
    () => NumberDecimal('x'), () => NumberDecimal(''), () => NumberDecimal(null), () => NumberDecimal('1e9999'), () => Decimal128.fromString('rubbish'),
    () => BinData(1), () => BinData(), () => BinData(300, 'aaaa'), () => BinData(0, 'a'), () => BinData('x', 'aaaa'), () => Binary(5),
    () => HexData(1), () => HexData(0, 'abc'), () => HexData(0, 12), () => MD5(), () => UUID('zz'), () => UUID('00'), () => UUID(null),
    () => LegacyJavaUUID('aa'), () => ObjectId('xyz'), () => ObjectId({}), () => ObjectId.createFromHexString('a'),
    () => NumberLong('abc'), () => NumberLong({}), () => NumberLong(null), () => NumberLong(Infinity), () => Long.fromString('zz', 16),
    () => NumberInt('abc'), () => NumberInt(''), () => NumberInt(null), () => Double('abc'), () => Double({}),
    () => Timestamp('a'), () => Timestamp(1, 'a'), () => Timestamp(-1, 0), () => Timestamp(2 ** 32, 0), () => Timestamp({t: 1}), () => Timestamp({}),
    () => ISODate('rubbish'), () => ISODate('2020-13-01'), () => ISODate('2021-02-29'), () => ISODate('2020-01-01T25:00:00Z'),
    () => DBRef(), () => DBRef('c'), () => DBRef(5, 1), () => DBRef('c', 1, 5), () => Code(5), () => Code('f', 5),
    () => BSONRegExp(), () => BSONRegExp('a', 'q'), () => BSONSymbol(5), () => DBPointer('c'),
];
for (const make of refused) {
    const message = assert.throws(make, [], String(make)).message;
    assert(!/is not a function|is undefined|no properties/.test(message), `by accident: ${make}: ${message}`);
}
assert.eq(assert.throws(() => NumberDecimal('x')).message, '"x" is not a valid Decimal128 string');

// What has a meaning is still taken.
assert.eq(['NaN', '-nan', '+1.5', 'inf', 1.5, NumberLong(5)].map((value) => NumberDecimal(value).toString()), ['NaN', 'NaN', '1.5', 'Infinity', '1.5', '5']);
assert.eq([BinData(0, ''), HexData(0, '')].map((binary) => binary.length()), [0, 0]);
assert.eq([Double('NaN'), Double('Infinity')].map(Number), [NaN, Infinity]);
assert.eq([Timestamp(), Timestamp(NumberLong(5)), Timestamp(5n), Timestamp(2 ** 32 - 1, NumberInt(3))].map(({t, i}) => [t, i]), [[0, 0], [0, 5], [0, 5], [2 ** 32 - 1, 3]]);
assert.eq([Code().code, BSONSymbol().value], ['', '']);
assert.eq(ISODate('2020-02-29T24:00:00Z'), ISODate('2020-03-01'));

// SPDX-License-Identifier: Apache-2.0
// EJSON.stringify() undoes EJSON.parse() and the other way round.
const document = {a: 1, b: NumberLong('9007199254740993'), c: ISODate('2020-01-01T00:00:00Z'), d: [ObjectId(), null, true], e: {f: 'x'}};
assert.eq(EJSON.parse(EJSON.stringify(document)), document);
assert.eq(EJSON.parse(EJSON.stringify(document, {relaxed: false}), {relaxed: false}), document);

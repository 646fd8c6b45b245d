// SPDX-License-Identifier: Apache-2.0
// tojson() writes values as the older shell did.
assert.eq(tojson({a: 1, b: 'x', c: [1, 2]}, '', true), '{ "a" : 1, "b" : "x", "c" : [ 1, 2 ] }');
assert.eq(tojson(NumberLong(5)), 'NumberLong("5")');
assert.eq(tojson(ISODate('2024-01-01T00:00:00Z')), 'ISODate("2024-01-01T00:00:00Z")');
assert.eq(tojson([]), '[ ]');
assert.eq(tojson(null), 'null');
assert.eq(tojsononeline({}), '{ }');

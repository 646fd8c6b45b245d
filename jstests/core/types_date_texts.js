// SPDX-License-Identifier: Apache-2.0
// ISODate() reads the usual forms and refuses others.
assert.eq(ISODate('2024-02-29').getTime(), 1709164800000);
assert.eq(ISODate('2024-02-29T01:00:00+01:00').getTime(), 1709164800000);
assert.eq(ISODate('20240229T000000Z').getTime(), 1709164800000);
assert.throws(() => ISODate('soon'));

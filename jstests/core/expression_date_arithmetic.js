// SPDX-License-Identifier: Apache-2.0
// Months are as long as they are; differences count borders.
load('jstests/libs/computed.js');
const d = ISODate('2024-01-31T10:00:00Z');
assert.eq(computed({$dateAdd: {startDate: '$d', unit: 'month', amount: 1}}, {d}), ISODate('2024-02-29T10:00:00Z'));
assert.eq(computed({$dateSubtract: {startDate: '$d', unit: 'hour', amount: 11}}, {d}), ISODate('2024-01-30T23:00:00Z'));
assert.eq(computed({$dateDiff: {startDate: '$d', endDate: ISODate('2024-02-01T00:00:00Z'), unit: 'day'}}, {d}), 1);
assert.eq(computed({$dateTrunc: {date: '$d', unit: 'week', startOfWeek: 'monday'}}, {d}), ISODate('2024-01-29T00:00:00Z'));
assert.eq(computed({$subtract: [ISODate('2024-02-01T00:00:00Z'), '$d']}, {d}), 50400000);
assert.eq(computed({$add: ['$d', 1000]}, {d}), ISODate('2024-01-31T10:00:01Z'));

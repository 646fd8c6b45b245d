// SPDX-License-Identifier: Apache-2.0
// $dateFromParts and $dateToParts undo each other.
load('jstests/libs/computed.js');
const d = ISODate('2023-07-04T05:06:07.008Z');
assert.eq(computed({$dateToParts: {date: '$d'}}, {d}), {year: 2023, month: 7, day: 4, hour: 5, minute: 6, second: 7, millisecond: 8});
assert.eq(computed({$dateFromParts: {year: 2023, month: 7, day: 4, hour: 5, minute: 6, second: 7, millisecond: 8}}), d);
assert.eq(computed({$dateFromParts: {year: 2023, month: 14, day: 1}}), ISODate('2024-02-01T00:00:00Z'));

// SPDX-License-Identifier: Apache-2.0
// The parts of a date, in UTC and elsewhere.
load('jstests/libs/computed.js');
const d = ISODate('2024-12-31T23:30:15.250Z');
assert.eq(computed([{$year: '$d'}, {$month: '$d'}, {$dayOfMonth: '$d'}, {$hour: '$d'}, {$minute: '$d'}, {$second: '$d'}, {$millisecond: '$d'}], {d}),
          [2024, 12, 31, 23, 30, 15, 250]);
assert.eq(computed([{$dayOfYear: '$d'}, {$dayOfWeek: '$d'}, {$isoWeek: '$d'}, {$isoWeekYear: '$d'}], {d}), [366, 3, 1, 2025]);
assert.eq(computed({$year: {date: '$d', timezone: '+01:00'}}, {d}), 2025);
assert.eq(computed({$hour: {date: '$d', timezone: 'America/New_York'}}, {d}), 18);

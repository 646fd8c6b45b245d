// SPDX-License-Identifier: Apache-2.0
// $dateToString and $dateFromString with a format.
load('jstests/libs/computed.js');
const d = ISODate('2024-03-05T06:07:08.009Z');
assert.eq(computed({$dateToString: {date: '$d', format: '%Y-%m-%d %H:%M:%S.%L'}}, {d}), '2024-03-05 06:07:08.009');
assert.eq(computed({$dateToString: {date: '$d', format: '%d/%m/%Y', timezone: 'Asia/Tokyo'}}, {d}), '05/03/2024');
assert.eq(computed({$dateToString: {date: null, onNull: 'never'}}), 'never');
assert.eq(computed({$dateFromString: {dateString: '05/03/2024', format: '%d/%m/%Y'}}), ISODate('2024-03-05T00:00:00Z'));
assert.eq(computed({$dateFromString: {dateString: 'soon', onError: 'no date'}}), 'no date');

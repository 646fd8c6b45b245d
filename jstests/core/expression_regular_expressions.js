// SPDX-License-Identifier: Apache-2.0
// $regexMatch, $regexFind and $regexFindAll.
load('jstests/libs/computed.js');
assert.eq(computed({$regexMatch: {input: 'Kiwi', regex: '^k', options: 'i'}}), true);
assert.eq(computed({$regexFind: {input: 'ab12cd3', regex: /([a-z]+)(\d+)/}}), {match: 'ab12', idx: 0, captures: ['ab', '12']});
assert.eq(computed({$regexFind: {input: 'none', regex: /\d/}}), null);
assert.eq(computed({$regexFindAll: {input: 'a1b22', regex: /\d+/}}).map((found) => found.match), ['1', '22']);

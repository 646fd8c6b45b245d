// SPDX-License-Identifier: Apache-2.0
// An operator that does not exist is told by its name.
load('jstests/libs/computed.js');
for (const [expression, code] of [[{$frobnicate: 1}, 31325], [{$add: [1, {$frobnicate: 1}]}, 168]]) {
    assert.includes(assert.throwsWithCode(() => computed(expression), code).message, '$frobnicate');
}
assert.throwsWithCode(() => computed({$add: [1, 2], $subtract: [3, 4]}), 15983);

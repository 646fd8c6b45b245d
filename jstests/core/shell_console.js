// SPDX-License-Identifier: Apache-2.0
// What scripts for Node use of `console`.
for (const name of ['log', 'info', 'warn', 'error', 'debug', 'dir', 'table', 'clear', 'assert', 'time', 'timeEnd']) {
    assert.eq(typeof console[name], 'function', name);
}
console.assert(true, 'not said');
console.assert(false, 'said');
console.dir({a: 1});
console.time('work');
console.timeEnd('work');

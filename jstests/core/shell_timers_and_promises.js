// SPDX-License-Identifier: Apache-2.0
// setTimeout, promises and async functions run before a script ends.
const order = [];
setTimeout(() => order.push('late'), 20);
Promise.resolve().then(() => order.push('soon'));
const wait = async () => { await new Promise((done) => setTimeout(done, 30)); order.push('last'); return 5; };
order.push('first');
assert.eq(await wait(), 5);
assert.eq(order, ['first', 'soon', 'late', 'last']);

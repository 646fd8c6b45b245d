// SPDX-License-Identifier: Apache-2.0
// `for await` outside functions walks cursors, lists of promises and asynchronous generators.
db.c.insertMany([{_id: 1}, {_id: 2}]);
const seen = [];
for await (const {_id} of db.c.find().sort({_id: 1})) {
    seen.push(_id);
}
for await (const value of [Promise.resolve(3), 4]) {
    seen.push(value);
}
async function* numbers() {
    yield await Promise.resolve(5);
    yield 6;
}
for  await (const value of numbers()) {
    if (value === 6) {
        break;
    }
    seen.push(value);
}
assert.eq(seen, [1, 2, 3, 4, 5]);

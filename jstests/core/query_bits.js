// SPDX-License-Identifier: Apache-2.0
// $bitsAllSet and its like look at the bits of numbers and binary data.
db.c.insertMany([{_id: 1, n: 5}, {_id: 2, n: 2}, {_id: 3, n: BinData(0, 'BQ==')}]);
const ids = (filter) => db.c.find(filter).sort({_id: 1}).toArray().map((row) => row._id);
assert.eq(ids({n: {$bitsAllSet: [0, 2]}}), [1, 3]);
assert.eq(ids({n: {$bitsAnySet: 3}}), [1, 2, 3]);
assert.eq(ids({n: {$bitsAllClear: 5}}), [2]);
assert.eq(ids({n: {$bitsAnyClear: [1]}}), [1, 3]);

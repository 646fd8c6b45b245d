// SPDX-License-Identifier: Apache-2.0
// $slice takes a part of a list and leaves other fields alone.
db.c.insertOne({_id: 1, a: 0, t: [1, 2, 3, 4, 5]});
assert.eq(db.c.findOne({}, {t: {$slice: 2}}), {_id: 1, a: 0, t: [1, 2]});
assert.eq(db.c.findOne({}, {t: {$slice: [1, 2]}}).t, [2, 3]);
assert.eq(db.c.findOne({}, {t: {$slice: [-2, 1]}}).t, [4]);

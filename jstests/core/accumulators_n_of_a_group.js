// SPDX-License-Identifier: Apache-2.0
// $firstN, $lastN, $minN and $maxN of a group.
db.c.insertMany([4, 1, 3, 2].map((n, _id) => ({_id, n})));
const of = (name) => db.c.aggregate([{$sort: {_id: 1}}, {$group: {_id: null, v: {[name]: {input: '$n', n: 2}}}}]).toArray()[0].v;
assert.eq(['$firstN', '$lastN', '$minN', '$maxN'].map(of), [[4, 1], [3, 2], [1, 2], [4, 3]]);

// SPDX-License-Identifier: Apache-2.0
// A projection may take the first element that fits.
db.c.insertOne({_id: 1, t: [{k: 'a', n: 1}, {k: 'b', n: 2}, {k: 'b', n: 3}], s: [4, 8, 12]});
assert.eq(db.c.findOne({}, {_id: 0, t: {$elemMatch: {k: 'b'}}}), {t: [{k: 'b', n: 2}]});
assert.eq(db.c.findOne({s: {$gt: 5}}, {_id: 0, 's.$': 1}), {s: [8]});
assert.throwsWithCode(() => db.c.findOne({_id: 1}, {'s.$': 1}), 51246);

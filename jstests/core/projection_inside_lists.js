// SPDX-License-Identifier: Apache-2.0
// A dotted name takes a field of every element.
db.c.insertOne({_id: 1, t: [{a: 1, b: 2}, {a: 3}, 7, {b: 4}]});
assert.eq(db.c.findOne({}, {_id: 0, 't.a': 1}), {t: [{a: 1}, {a: 3}, {}]});
assert.eq(db.c.findOne({}, {_id: 0, 't.a': 0}), {t: [{b: 2}, {}, 7, {b: 4}]});

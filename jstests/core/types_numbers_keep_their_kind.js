// SPDX-License-Identifier: Apache-2.0
// Whole numbers are ints, others doubles, and what is read is written back alike.
db.c.insertOne({_id: 1, i: 1, d: 1.5, big: 4294967296, whole: Double(3), l: NumberLong(7), z: -0});
const kinds = (document) => db.c.aggregate([{$match: {_id: document}}, {$project: {_id: 0, i: {$type: '$i'}, d: {$type: '$d'},
    big: {$type: '$big'}, whole: {$type: '$whole'}, l: {$type: '$l'}, z: {$type: '$z'}}}]).next();
const expected = {i: 'int', d: 'double', big: 'double', whole: 'double', l: 'long', z: 'double'};
assert.eq(kinds(1), expected);
const copy = db.c.findOne();
copy._id = 2;
db.c.insertOne(copy);
assert.eq(kinds(2), expected);

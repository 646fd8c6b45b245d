// SPDX-License-Identifier: Apache-2.0
// $merge may replace, keep, merge, fail or leave out.
db.dst.insertOne({_id: 1, a: 1});
const merge = (document, options) => {
    db.src.deleteMany({});
    db.src.insertOne(document);
    db.src.aggregate([{$merge: {into: 'dst', ...options}}]);
    return db.dst.findOne({_id: document._id});
};
assert.eq(merge({_id: 1, b: 2}), {_id: 1, a: 1, b: 2});
assert.eq(merge({_id: 1, c: 3}, {whenMatched: 'replace'}), {_id: 1, c: 3});
assert.eq(merge({_id: 1, d: 4}, {whenMatched: 'keepExisting'}), {_id: 1, c: 3});
assert.eq(merge({_id: 1, n: 5}, {whenMatched: [{$set: {sum: {$add: ['$c', '$$new.n']}}}]}), {_id: 1, c: 3, sum: 8});
assert.throwsWithCode(() => merge({_id: 1}, {whenMatched: 'fail'}), 11000);
assert.eq(merge({_id: 2}, {whenNotMatched: 'discard'}), null);
assert.throwsWithCode(() => merge({_id: 2}, {whenNotMatched: 'fail'}), 13113);

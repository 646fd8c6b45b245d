// SPDX-License-Identifier: Apache-2.0
// The result within the error has the ids of what was written, and of nothing after the error of an ordered write.
const idsOf = (ordered) => {
    db.c.drop();
    const error = assert.throwsWithCode(() => db.c.insertMany([{_id: 1}, {_id: 2}, {_id: 2}, {_id: 3}], {ordered}), 11000);
    assert.eq(error.result.insertedCount, Object.keys(error.result.insertedIds).length);
    return error.result.insertedIds;
};
assert.eq(idsOf(true), {0: 1, 1: 2});
assert.eq(idsOf(false), {0: 1, 1: 2, 3: 3});

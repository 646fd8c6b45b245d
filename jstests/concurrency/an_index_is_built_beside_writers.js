// SPDX-License-Identifier: Apache-2.0
// An index built while documents come, change and go holds what is there.
load('jstests/libs/beside.js');
db.c.insertMany(Array.from({length: 2000}, (_, _id) => ({_id, n: _id % 10})));
beside(3, (number) => {
    if (number === 0) {
        db.c.createIndex({n: 1});
        return;
    }
    for (let turn = 0; turn < 150; ++turn) {
        db.c.insertOne({n: turn % 10});
        db.c.updateOne({_id: turn * 2 + number}, {$inc: {n: 1}});
        db.c.deleteOne({_id: 1000 + turn * 2 + number});
    }
});
assert.eq(db.c.find().hint({n: 1}).itcount(), db.c.find().hint({$natural: 1}).itcount());
for (let n = 0; n <= 10; ++n) {
    assert.eq(db.c.find({n}).hint({n: 1}).itcount(), db.c.find({n}).hint({$natural: 1}).itcount(), 'n is ' + n);
}
assert.eq(db.c.validate({full: true}).valid, true);

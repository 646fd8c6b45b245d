// SPDX-License-Identifier: Apache-2.0
// Five thousand small requests one after the other, each with its own answer.
for (let n = 0; n < 5000; ++n) {
    if (db.runCommand({ping: 1, comment: n}).ok !== 1) {
        doassert('request ' + n);
    }
}
db.c.insertMany(Array.from({length: 100}, (_, _id) => ({_id})));
for (let n = 0; n < 500; ++n) {
    assert.eq(db.c.findOne({_id: n % 100})._id, n % 100);
}

// SPDX-License-Identifier: Apache-2.0
// A collection that is renamed to and fro is seen under one of its names.
load('jstests/libs/beside.js');
db.a.insertOne({_id: 1});
beside(2, (number) => {
    if (number === 0) {
        for (let turn = 0; turn < 100; ++turn) {
            db.getCollection(turn % 2 === 0 ? 'a' : 'b').renameCollection(turn % 2 === 0 ? 'b' : 'a');
        }
        db.over.insertOne({});
        return;
    }
    do {
        const names = db.getCollectionNames().filter((name) => name === 'a' || name === 'b');
        assert.eq(names.length, 1, tojson(names));
    } while (db.over.findOne() === null);
});
assert.eq(db.a.find().toArray(), [{_id: 1}]);

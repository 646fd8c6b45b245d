// SPDX-License-Identifier: Apache-2.0
// Databases that are made and dropped beside each other do not disturb one another.
load('jstests/libs/beside.js');
beside(3, (number) => {
    const own = db.getSiblingDB(`${db.getName()}_${number}`);
    for (let turn = 0; turn < 15; ++turn) {
        own.c.insertMany([{turn}, {turn}]);
        assert.eq(own.c.countDocuments({turn}), 2);
        own.dropDatabase();
        assert.eq(own.getCollectionNames(), []);
    }
});

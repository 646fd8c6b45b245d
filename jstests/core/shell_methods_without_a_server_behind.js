// SPDX-License-Identifier: Apache-2.0
// Methods whose commands this server does not have end with its error, and not with "is not a function".
for (const call of [() => db.c.createSearchIndex('name', {mappings: {dynamic: true}}), () => db.c.createSearchIndexes([]),
                    () => db.c.dropSearchIndex('name'), () => db.c.updateSearchIndex('name', {}), () => db.c.getShardVersion(),
                    () => db.c.analyzeShardKey({a: 1}), () => db.c.configureQueryAnalyzer({mode: 'off'}),
                    () => db.c.checkMetadataConsistency().toArray(), () => db.c.getSearchIndexes()]) {
    const error = assert.throws(call);
    assert.eq(error.name, 'MongoServerError', String(call));
}
assert.eq(assert.throws(() => db.getMongo().setCausalConsistency(true)).name, 'MongoshUnimplementedError');
assert.includes(assert.throws(() => db.c.createIndex()).message, 'position 0');
assert.includes(assert.throws(() => db.c.createIndexes()).message, 'position 0');

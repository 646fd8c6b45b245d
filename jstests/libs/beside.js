// SPDX-License-Identifier: Apache-2.0
// beside(count, work, ...args): runs work(number, ...args) in so many shells at once and waits for them all. They
// begin together.
globalThis.beside = (count, work, ...args) => {
    const start = db.getCollection('start');
    const joins = Array.from({length: count}, (_, number) => startParallelShell((source, number, count, ...args) => {
        db.getCollection('start').insertOne({_id: number});
        assert.soon(() => db.getCollection('start').countDocuments({}) === count, 'all have begun', 30000, 2);
        globalThis.eval(`(${source})`)(number, ...args);
    }, null, false, work.toString(), number, count, ...args));
    joins.forEach((join) => join());
    start.drop();
};

// SPDX-License-Identifier: Apache-2.0
// needs('views', () => ...): skips the test when the server refuses the probe, because it does not
// have that yet. Drops what the probe made.
globalThis.needs = (what, probe) => {
    try {
        probe();
        db.probe.drop();
    } catch (error) {
        quitSkipped(`the server has no ${what}: ${error.message}`);
    }
};

// For tests of transactions. A first operation shows whether there are any.
globalThis.needsTransactions = () => needs('transactions', () => {
    const session = db.getMongo().startSession();
    session.startTransaction();
    session.getDatabase(db.getName()).probe.findOne();
    session.abortTransaction();
});

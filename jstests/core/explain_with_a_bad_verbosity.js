// SPDX-License-Identifier: Apache-2.0
// Only three words may say how much explain tells.
assert.throwsWithCode(() => db.runCommand({explain: {find: 'c'}, verbosity: 'all of it'}), [2, 9]);
assert.throws(() => db.runCommand({explain: {nosuch: 'c'}}));

// SPDX-License-Identifier: Apache-2.0
// Names that no collection may have.
for (const name of ['', 'a$b', 'system.x', '.a', 'a\0b']) {
    assert.commandFailedWithCode(db.tryCommand({create: name}), [73, 20, 2, 13], name);
}
assert.commandFailedWithCode(db.tryCommand({create: 'x'.repeat(300)}), 73);
assert.commandWorked(db.tryCommand({create: 'größe und мир'}));

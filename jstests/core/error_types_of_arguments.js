// SPDX-License-Identifier: Apache-2.0
// Arguments of the wrong type are told by name and type.
for (const [command, code] of [[{find: 'c', filter: 5}, 14], [{find: 5}, [73, 2, 14]], [{insert: 'c', documents: {}}, 14],
                               [{aggregate: 'c', pipeline: {}, cursor: {}}, 14], [{find: 'c', limit: 'x'}, 14], [{find: 'c', skip: -1}, [51024, 2]]]) {
    assert.commandFailedWithCode(db.tryCommand(command), code, command);
}

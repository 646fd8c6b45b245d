// SPDX-License-Identifier: Apache-2.0
// What a command needs and was not given.
for (const [command, code] of [[{insert: 'c'}, 40414], [{aggregate: 'c', pipeline: []}, 9], [{distinct: 'c'}, 40414],
                               [{createIndexes: 'c'}, [40414, 9]], [{findAndModify: 'c'}, 9]]) {
    assert.commandFailedWithCode(db.tryCommand(command), code, command);
}

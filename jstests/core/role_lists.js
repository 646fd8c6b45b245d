// SPDX-License-Identifier: Apache-2.0
// The built-in roles are there, with their privileges when asked.
const names = db.getRoles({showBuiltinRoles: true}).roles.map((role) => role.role);
for (const name of ['read', 'readWrite', 'dbAdmin', 'dbOwner', 'userAdmin']) {
    assert.contains(name, names);
}
const role = db.getRole('read', {showPrivileges: true});
assert.eq([role.role, role.isBuiltin], ['read', true]);
assert(role.privileges.some(({actions}) => actions.includes('find')), tojson(role));

// SPDX-License-Identifier: Apache-2.0
// connectionStatus tells what one may.
load('jstests/libs/as_user.js');
const ann = asUser('ann', ['read']);
const {authInfo} = ann.runCommand({connectionStatus: 1, showPrivileges: true});
assert.eq(authInfo.authenticatedUserRoles, [{role: 'read', db: db.getName()}]);
const own = authInfo.authenticatedUserPrivileges.find(({resource}) => resource.db === db.getName() && resource.collection === '');
assert(own.actions.includes('find') && !own.actions.includes('insert'), tojson(own));
db.dropUser('ann');

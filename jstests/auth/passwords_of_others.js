// SPDX-License-Identifier: Apache-2.0
// The password of another user is changed by a user admin, and by no other.
load('jstests/libs/as_user.js');
const ann = asUser('ann', ['read']);
const bob = asUser('bob', ['userAdmin']);
refused(() => ann.changeUserPassword('bob', 'x'));
bob.changeUserPassword('ann', 'new');
assert.throwsWithCode(() => ann.auth('ann', 'word of ann'), 18);
assert.eq(ann.auth('ann', 'new').ok, 1);
db.dropAllUsers();

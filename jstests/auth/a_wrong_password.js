// SPDX-License-Identifier: Apache-2.0
// A wrong password, an unknown user and the wrong database are answered alike.
load('jstests/libs/as_user.js');
asUser('ann', ['read']).logout();
const other = new Mongo(`mongodb://${db.getMongo().host}/`);
const answers = [['ann', 'wrong', db.getName()], ['nobody', 'word of ann', db.getName()], ['ann', 'word of ann', 'admin']].map(
    ([name, word, place]) => assert.throwsWithCode(() => other.getDB(place).auth(name, word), 18).message);
assert.eq(new Set(answers).size, 1, tojson(answers));
db.dropUser('ann');

// SPDX-License-Identifier: Apache-2.0
// After logout the connection is nobody's.
load('jstests/libs/as_user.js');
const ann = asUser('ann', ['readWrite']);
ann.c.insertOne({});
ann.logout();
refused(() => ann.c.findOne());
db.dropUser('ann');

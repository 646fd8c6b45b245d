// SPDX-License-Identifier: Apache-2.0
// new Mongo() and connect().
const other = connect(db.getMongo().getURI().replace(/\/[^/]*$/, '/') + db.getName());
db.c.insertOne({_id: 1});
assert.eq(other.c.findOne(), {_id: 1});
assert.throws(() => new Mongo('mongodb://127.0.0.1:1/'));
other.getMongo().close();

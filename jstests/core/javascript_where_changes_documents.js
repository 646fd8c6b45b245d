// SPDX-License-Identifier: Apache-2.0
// Updates and deletes choose their documents by $where.
db.c.insertMany([{_id: 1, n: 1}, {_id: 2, n: 2}, {_id: 3, n: 3}]);
assert.eq(db.c.updateMany({$where: 'this.n > 1'}, {$set: {big: true}}).modifiedCount, 2);
assert.eq(db.c.findOneAndUpdate({$where: 'this.n == 3'}, {$inc: {n: 10}}, {returnDocument: 'after'}).n, 13);
assert.eq(db.c.deleteMany({$where: '!this.big'}).deletedCount, 1);
assert.eq(db.c.distinct('n', {$where: 'true'}), [2, 13]);

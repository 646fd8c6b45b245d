// SPDX-License-Identifier: Apache-2.0
// $where finds what a function says, given as text, as code, or with the document as `obj`.
db.c.insertMany([{_id: 1, a: 1, b: 1}, {_id: 2, a: 1, b: 2}, {_id: 3, a: 3, b: 3}]);
for (const where of ['this.a == this.b', 'return this.a == this.b', 'obj.a == obj.b', 'function() { return this.a == this.b; }', Code('function() { return this.a == this.b; }')]) {
    assert.eq(db.c.find({$where: where}).sort({_id: 1}).toArray().map((document) => document._id), [1, 3], tojson(where));
}
assert.eq(db.c.find({_id: {$gt: 1}, $where: 'this.a == this.b'}).itcount(), 1);
assert.throwsWithCode(() => db.runCommand({find: 'c', filter: {$where: 'absent.field'}}), 139);

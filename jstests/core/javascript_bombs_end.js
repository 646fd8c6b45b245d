// SPDX-License-Identifier: Apache-2.0
// Scripts without end, or without measure, end with an error that says what was wrong.
db.c.insertOne({_id: 1});
const fails = (where, code, options) => assert.throwsWithCode(() => db.runCommand(Object.assign({find: 'c', filter: {$where: where}}, options)), code);
fails('while (true) {}', 50, {maxTimeMS: 100});
fails('/(a+)+b/.test("a".repeat(60))', 50, {maxTimeMS: 100});
fails('function f() { return f() + 1; } return f();', 139);
fails('var all = []; while (true) { all.push("x".repeat(1000) + all.length); }', 139);
assert.eq(db.c.find({$where: 'this._id == 1'}).itcount(), 1);

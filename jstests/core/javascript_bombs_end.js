// SPDX-License-Identifier: Apache-2.0
// Scripts without end, or without measure, end with an error that says what was wrong.
db.c.insertOne({_id: 1});
const fails = (where, code, options) => assert.throwsWithCode(() => db.runCommand(Object.assign({find: 'c', filter: {$where: where}}, options)), code);
fails('while (true) {}', 50, {maxTimeMS: 100});
fails('/(a+)+b/.test("a".repeat(60))', 50, {maxTimeMS: 100});
fails('function f() { return f() + 1; } return f();', 139);
fails('var all = []; while (true) { all.push("x".repeat(1000) + all.length); }', 139);
assert.eq(db.c.find({$where: 'this._id == 1'}).itcount(), 1);
// Within one call of the engine.
const list = 'var all = []; for (var i = 0; i < 100000; i++) { all.push({x: i}); } ';
fails(list + 'return JSON.stringify(Array(500).fill(all)) === ""', [50, 139], {maxTimeMS: 300});
fails('return "a".repeat(1 << 22).indexOf("a".repeat(1 << 21) + "b") >= 0', 139);
fails('return "x".repeat(1 << 27).split("").length === 0', 139);
assert.eq(db.c.find({$where: 'return "a,b,c".split(",").indexOf("c") === 2 && "a,b".includes(",b")'}).itcount(), 1);

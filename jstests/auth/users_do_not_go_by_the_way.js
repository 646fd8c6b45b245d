// SPDX-License-Identifier: Apache-2.0
// Not even root drops, renames, replaces or limits what the server keeps its users in.
const admin = db.getSiblingDB('admin');
for (const [code, action] of [
    [20, () => admin.dropDatabase()],
    [20, () => admin.getCollection('system.users').drop()],
    [20, () => admin.getCollection('system.version').drop()],
    [20, () => admin.getCollection('system.users').renameCollection('others')],
    [72, () => admin.runCommand({collMod: 'system.users', validator: {a: 1}})],
    [72, () => admin.getCollection('system.users').createIndex({t: 1}, {expireAfterSeconds: 1})],
]) {
    let told;
    try {
        told = action();
    } catch (error) {
        told = error;
    }
    assert.eq(told.code, code, String(action));
}
db.c.insertOne({_id: 'admin.me'});
for (const [code, stage] of [
    [17385, {$out: {db: 'admin', coll: 'system.users'}}],
    [31321, {$out: {db: 'admin', coll: 'users'}}],
    [31319, {$merge: {into: {db: 'admin', coll: 'system.users'}}}],
    [31320, {$merge: {into: {db: 'config', coll: 'x'}}}],
]) {
    assert.throwsWithCode(() => db.c.aggregate([stage]).toArray(), code);
}
assert(admin.getUsers().users.length > 0);

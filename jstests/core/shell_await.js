// SPDX-License-Identifier: Apache-2.0
// await is accepted, though calls are synchronous.
const main = async () => {
    await db.c.insertOne({_id: 1});
    const found = await db.c.findOne();
    await db.c.updateOne({_id: 1}, {$set: {a: (await db.c.countDocuments({})) + 1}});
    return found;
};
assert.eq(await main(), {_id: 1});
assert.eq(await db.c.findOne(), {_id: 1, a: 2});

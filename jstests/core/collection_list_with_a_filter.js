// SPDX-License-Identifier: Apache-2.0
// Collections are listed by name, kind and options.
db.createCollection('a1');
db.createCollection('a2', {validator: {x: 1}});
db.b.insertOne({});
assert.eq(db.getCollectionNames().sort(), ['a1', 'a2', 'b']);
assert.eq(db.getCollectionInfos({name: /^a/}).map((info) => info.name).sort(), ['a1', 'a2']);
const [info] = db.getCollectionInfos({name: 'a2'});
assert.eq([info.type, info.options.validator, info.info.readOnly], ['collection', {x: 1}, false]);
assert(info.info.uuid instanceof UUID || info.info.uuid instanceof BinData);

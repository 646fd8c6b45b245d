// SPDX-License-Identifier: Apache-2.0
// clusterMonitor sees serverStatus and no documents.
const admin = db.getSiblingDB('admin');
admin.createUser({user: 'watch', pwd: 'x', roles: ['clusterMonitor']});
db.c.insertOne({});
const mongo = new Mongo(`mongodb://${db.getMongo().host}/`);
mongo.getDB('admin').auth('watch', 'x');
assert.eq(mongo.getDB('admin').serverStatus().ok, 1);
assert.gte(mongo.getDBNames().length, 2);
assert.throwsWithCode(() => mongo.getDB(db.getName()).c.findOne(), 13);
admin.dropUser('watch');

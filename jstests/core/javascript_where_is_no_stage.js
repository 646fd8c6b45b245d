// SPDX-License-Identifier: Apache-2.0
// $where belongs to the filters of commands: pipelines, validators and $elemMatch refuse it.
db.c.insertOne({a: [{b: 1}]});
const match = [{$match: {$where: 'true'}}];
assert.throwsWithCode(() => db.runCommand({aggregate: 'c', pipeline: match, cursor: {}}), 2);
assert.throwsWithCode(() => db.runCommand({aggregate: 'c', pipeline: [{$facet: {f: match}}], cursor: {}}), 2);
assert.throwsWithCode(() => db.createCollection('v', {validator: {$where: 'true'}}), 2);
assert.throwsWithCode(() => db.runCommand({find: 'c', filter: {a: {$elemMatch: {$where: 'true'}}}}), 2);

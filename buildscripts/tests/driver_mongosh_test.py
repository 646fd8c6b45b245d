# SPDX-License-Identifier: Apache-2.0
"""mongosh, the real one from npm, connects, inserts, finds, updates and aggregates."""
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

FOLDER = os.path.join(harness.ROOT, 'build', 'mongosh')
MONGOSH = os.path.join(FOLDER, 'node_modules', '.bin', 'mongosh')


def install():
    with harness.alone('mongosh'):
        if not os.path.exists(MONGOSH):
            os.makedirs(FOLDER, exist_ok=True)
            done = subprocess.run(['npm', 'install', '--prefix', FOLDER, '--no-audit', '--no-fund', '--silent', 'mongosh'],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                raise AssertionError('npm could not install mongosh: ' + done.stderr[-2000:])


class MongoshTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which('npm'):
            raise unittest.SkipTest('npm is not here')
        install()
        cls.server = harness.Server().start()
        cls.addClassCleanup(cls.server.__exit__)

    def run_mongosh(self, script, code=0, server=None):
        server = server or self.server
        env = dict(os.environ, HOME=server.directory)
        done = subprocess.run([MONGOSH, '--quiet', '--norc', server.uri + 'shelltest', '--eval', script],
                              capture_output=True, text=True, env=env, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def answer(self, script, server=None):
        return json.loads(self.run_mongosh('print(EJSON.stringify((() => { %s })()))' % script, server=server).strip().splitlines()[-1])

    def test_insert_find_update_aggregate_delete(self):
        self.assertEqual(self.answer('''
            db.dropDatabase();
            const many = db.c.insertMany([{_id: 1, a: 1, t: ["x", "y"]}, {_id: 2, a: 2, t: ["y"]}, {_id: 3, a: 3}]);
            db.c.createIndex({t: 1});
            const update = db.c.updateOne({_id: 1}, {$inc: {a: 10}, $push: {t: "z"}});
            const gone = db.c.deleteOne({_id: 3});
            return {inserted: Object.keys(many.insertedIds).length, modified: update.modifiedCount, deleted: gone.deletedCount,
                    found: db.c.find({t: "y"}).sort({_id: -1}).toArray(), one: db.c.findOne({a: 11}),
                    sum: db.c.aggregate([{$match: {a: {$gt: 0}}}, {$group: {_id: null, s: {$sum: "$a"}}}]).toArray(),
                    count: db.c.countDocuments(), indexes: db.c.getIndexes().map(i => i.name),
                    collections: db.getCollectionNames()};'''),
                         {'inserted': 3, 'modified': 1, 'deleted': 1,
                          'found': [{'_id': 2, 'a': 2, 't': ['y']}, {'_id': 1, 'a': 11, 't': ['x', 'y', 'z']}],
                          'one': {'_id': 1, 'a': 11, 't': ['x', 'y', 'z']}, 'sum': [{'_id': None, 's': 13}],
                          'count': 2, 'indexes': ['_id_', 't_1'], 'collections': ['c']})

    def test_a_cursor_over_many_batches(self):
        self.assertEqual(self.answer('''
            db.many.drop();
            db.many.insertMany(Array.from({length: 2500}, (_, i) => ({_id: i, text: "x".repeat(100)})));
            return {n: db.many.find().batchSize(100).toArray().length, last: db.many.find().sort({_id: -1}).limit(1).next()._id};'''),
                         {'n': 2500, 'last': 2499})

    def test_errors_reach_the_user(self):
        self.assertEqual(self.answer('''
            db.u.drop(); db.u.insertOne({_id: 1});
            try { db.u.insertOne({_id: 1}); return "no error"; } catch (error) { return [error.code, error.message]; }'''),
                         [11000, 'E11000 duplicate key error collection: shelltest.u index: _id_ dup key: { _id: 1 }'])
        self.assertEqual(self.answer('try { db.runCommand({nosuch: 1}); } catch (e) { return [e.code, e.codeName]; }'),
                         [59, 'CommandNotFound'])

    def test_the_methods_of_a_replica_set(self):
        with harness.Server(arguments=['--replSet', 'rs0']) as server:
            self.assertEqual(self.answer('''
                const refusal = (call) => { try { call(); return "no error"; } catch (error) { return error.codeName; } };
                const first = rs.initiate({_id: "rs0", members: [{_id: 0, host: "127.0.0.1"}]}).ok;
                const conf = rs.conf();
                conf.settings.electionTimeoutMillis = 5000;
                const again = rs.reconfig(conf).ok;
                return {first, again, second: refusal(() => rs.initiate()), version: rs.conf().version,
                        timeout: rs.conf().settings.electionTimeoutMillis, state: rs.status().members[0].stateStr,
                        primary: rs.hello().isWritablePrimary, freeze: refusal(() => rs.freeze(5)),
                        stepDown: refusal(() => rs.stepDown()), add: refusal(() => rs.add("elsewhere:1")),
                        databases: db.adminCommand({listDatabases: 1, nameOnly: true}).databases.map(({name}) => name)};''', server),
                             {'first': 1, 'again': 1, 'second': 'AlreadyInitialized', 'version': 2, 'timeout': 5000, 'state': 'PRIMARY',
                              'primary': True, 'freeze': 'NotSecondary', 'stepDown': 'ExceededTimeLimit',
                              'add': 'InvalidReplicaSetConfig', 'databases': ['admin', 'config', 'local']})
        self.assertEqual(self.answer('try { rs.status(); } catch (e) { return [e.code, e.message]; }'), [76, 'not running with --replSet'])


if __name__ == '__main__':
    unittest.main()

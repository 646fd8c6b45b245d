# SPDX-License-Identifier: Apache-2.0
"""mongodb-memory-server, the test harness from npm, starts freshetd as its mongod: a single server and a replica set of one, each
with and without logins."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import driver_languages_test as languages  # noqa: E402
import harness  # noqa: E402

SCRIPT = '''
const {MongoMemoryServer, MongoMemoryReplSet} = require('mongodb-memory-server-core');
const {MongoClient} = require('mongodb');
const [kind, options, login] = JSON.parse(process.argv[2]);

(async () => {
    const server = await (kind === 'set' ? MongoMemoryReplSet : MongoMemoryServer).create(options);
    const client = await MongoClient.connect(server.getUri(), {...login, serverSelectionTimeoutMS: 5000});
    const c = client.db('test').collection('c');
    await c.insertOne({_id: 1});
    const hello = await client.db('admin').command({hello: 1});
    const answer = {found: await c.findOne(), primary: hello.isWritablePrimary, setName: hello.setName};
    await client.close();
    answer.stopped = await server.stop();
    console.log(JSON.stringify(answer));
})().catch(error => { console.error(error); process.exit(1); });
'''


class MemoryServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = os.path.join(languages.install_node(), 'try_memory_server.js')
        with open(cls.script, 'w', encoding='utf-8') as file:
            file.write(SCRIPT)

    def run_harness(self, kind, options, login=None):
        env = dict(os.environ, MONGOMS_SYSTEM_BINARY=harness.program('freshetd'), MONGOMS_VERSION='8.0.0')
        done = subprocess.run(['node', self.script, json.dumps([kind, options, login or {}])], capture_output=True, text=True,
                              env=env, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr, '')  # the harness warns when our version is another one than it asked for
        return json.loads(done.stdout)

    ANSWER = {'found': {'_id': 1}, 'primary': True, 'stopped': True}
    LOGIN = {'auth': {'username': 'root', 'password': 'secret'}, 'authSource': 'admin'}
    AUTH = {'enable': True, 'customRootName': 'root', 'customRootPwd': 'secret'}

    def test_a_server(self):
        self.assertEqual(self.run_harness('server', {}), self.ANSWER)

    def test_a_server_with_logins(self):
        self.assertEqual(self.run_harness('server', {'auth': self.AUTH}, self.LOGIN), self.ANSWER)

    def test_a_replica_set(self):
        self.assertEqual(self.run_harness('set', {'replSet': {'count': 1}}), dict(self.ANSWER, setName='testset'))

    def test_a_replica_set_with_logins(self):
        options = {'replSet': {'count': 1, 'name': 'rs0', 'auth': self.AUTH}}
        self.assertEqual(self.run_harness('set', options, self.LOGIN), dict(self.ANSWER, setName='rs0'))


if __name__ == '__main__':
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server and its clients on two hosts with a Soft-RoCE device each: run by rdma_lab --two, a class in each of its guests. When
the clients' tests are over their host's power fails, with sessions at work, and the server is told (a file in its share)."""
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

pymongo = harness.import_pymongo()
from driver_rdma_proxy_test import ADDRESS, Proxy, until  # noqa: E402

PORT, CALL_PORT, END = 27017, 27020, '/run/share/end'
SECONDS = 900  # rdma_lab ends the guests before
LAST_SESSIONS = 8
LAST_WORDS = '''
const all = [];
for (let i = 0; i < %d; ++i) all.push(new Mongo("mongodb://%s:%d/?rdma=true"));
for (let n = 0;; ++n) {
    all[n %% (all.length / 2)].getDB("shop").last.insertOne({pad: "x".repeat(1000)});
    if (n === all.length) print("at work");
}'''


@unittest.skipUnless(ADDRESS, 'FRESHET_RDMA_ADDRESS names no device')
class ServerHost(unittest.TestCase):
    def test_serves_until_the_other_host_is_gone(self):
        server = harness.Server(arguments=['--bind_ip', '127.0.0.1,' + ADDRESS, '--rdma', '--rdmaPort', str(CALL_PORT),
                                           '--unsafe-listen-without-auth'])
        server.port = PORT
        self.enterContext(server)
        until(lambda: os.path.exists(END), SECONDS)
        admin = self.enterContext(server.client()).admin

        def rdma():
            return admin.command('serverStatus')['rdma']
        until(lambda: rdma()['sessions'] == 0, SECONDS)
        status = rdma()
        print(json.dumps(status))
        self.assertEqual(status['fallbacksToTcp'], 0)
        self.assertGreaterEqual(status['callsTaken'], 1)
        self.assertGreaterEqual(status['sessionsMade'], status['callsTaken'] + LAST_SESSIONS)
        shown = subprocess.run(['rdma', 'resource', 'show', 'qp'], capture_output=True, text=True, check=True).stdout
        self.assertNotIn(' pid %d ' % server.process.pid, shown)
        self.assertEqual(server.stop(), 0)


@unittest.skipUnless(ADDRESS, 'FRESHET_RDMA_ADDRESS names no device')
class ClientHost(unittest.TestCase):
    """Its tests are run by their names."""

    @classmethod
    def setUpClass(cls):
        def is_there():
            with socket.socket() as probe:
                probe.settimeout(5)
                return probe.connect_ex((ADDRESS, PORT)) == 0
        until(is_there, SECONDS)

    def run_program(self, name, *arguments):
        done = subprocess.run([harness.program(name), *arguments], capture_output=True, text=True, check=False, timeout=240)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn('stays on TCP', done.stderr)
        return done.stdout

    def test_1_what_the_check_says(self):
        self.assertIn('A ping came back over RDMA', self.run_program('freshet', '--rdma-check', '%s:%d' % (ADDRESS, PORT)))

    def test_2_the_shell(self):
        for port, way in ((PORT, 'true'), (CALL_PORT, 'cm')):
            out = self.run_program('freshet', 'mongodb://%s:%d/shop?rdma=%s' % (ADDRESS, port, way), '--quiet', '--eval',
                                   'db.shell.insertOne({pad: "x".repeat(100000)}); db.shell.findOne().pad.length')
            self.assertEqual(out.strip(), '100000')

    def test_3_pymongo_through_the_proxy(self):
        source = random.Random(harness.seed())
        with tempfile.TemporaryDirectory() as directory, \
                Proxy(types.SimpleNamespace(directory=directory, port=PORT), arguments=['--require-rdma']) as proxy, \
                proxy.client() as client, pymongo.MongoClient(ADDRESS, PORT, directConnection=True) as direct:
            for number, size in enumerate((0, 1024, 65536, 1 << 20, 16_000_000)):
                value = source.randbytes(size // 2) + bytes(size - size // 2)
                client.shop.documents.insert_one({'_id': number, 'value': value})
                self.assertEqual(client.shop.documents.find_one({'_id': number})['value'], value)
                self.assertEqual(direct.shop.documents.find_one({'_id': number})['value'], value)
            self.assertEqual(proxy.log_text().count('go over RDMA'), 1, proxy.log_text())

    def test_4_a_model_comes_back(self):
        lines = self.run_program('freshet-bench', 'wire', '--transport', 'rdma', '--uri', 'mongodb://%s:%d' % (ADDRESS, PORT),
                                 '--op', 'model', '--value-bytes', '8M', '--durability', 'nosync', '--json').splitlines()
        self.assertEqual({json.loads(line)['transport'] for line in lines}, {'rdma'}, lines)

    def test_5_sessions_at_work_when_the_power_fails(self):
        """Half of them; the others say nothing any more. It is left to the power failure."""
        child = subprocess.Popen([harness.program('freshet'), '--nodb', '--quiet', '--eval',
                                  LAST_WORDS % (LAST_SESSIONS, ADDRESS, PORT)], stdout=subprocess.PIPE)
        self.assertEqual(child.stdout.readline(), b'at work\n')


if __name__ == '__main__':
    unittest.main()

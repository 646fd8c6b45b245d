#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients over RDMA that are killed at any time, through freshet-rdma-proxy and without it: nothing is left of them. Needs a
device, whose address is in FRESHET_RDMA_ADDRESS; run by rdma_lab --long, in a guest that has nothing else to do."""
import os
import random
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

harness.import_pymongo()
from driver_rdma_proxy_test import ADDRESS, Proxy, until  # noqa: E402

CONNECTS = int(os.environ.get('FRESHET_RDMA_CONNECTS') or 1000)
SESSIONS = 64
EACH = 8  # sessions of a client
RESIDENT_KB_MORE = 64 * 1024  # what a server may grow by; the rings of a thousand sessions are 384,000
DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'rdma_driver.py')
# As the driver does, it writes over a few documents for ever, and says so when all of its sessions have.
NATIVE = '''
const all = [];
for (let i = 0; i < %d; ++i) all.push(new Mongo("%s"));
for (let n = 0;; ++n) {
    const pad = "x".repeat(Math.floor(Math.random() * 100000));
    all[n %% all.length].getDB("shop").c.updateOne({_id: n %% 50}, {$set: {pad}}, {upsert: true});
    if (n %% all.length === all.length - 1) print("round");
}'''


class Process:
    """What the kernel knows of one that holds sessions."""

    def __init__(self, pid):
        self.pid = pid

    def read(self, name):
        with open('/proc/%d/%s' % (self.pid, name), encoding='utf-8', errors='replace') as text:
            return text.read()

    def status(self, name):
        return int(re.search(name + r':\s*(\d+) kB', self.read('status'))[1])

    def held(self):
        """Queue pairs, rings and pinned memory, all in kB, and descriptors."""
        shown = subprocess.run(['rdma', 'resource', 'show', 'qp'], capture_output=True, text=True, check=True).stdout
        return {'queue pairs': len(re.findall(r' pid %d ' % self.pid, shown)), 'rings': self.read('maps').count('freshet-ring'),
                'pinned kB': self.status('VmPin'), 'descriptors': len(os.listdir('/proc/%d/fd' % self.pid))}


class Client:
    def __init__(self, words, **more):
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, **more)

    def wait(self, rounds):
        """Until all of its sessions have been used so often."""
        for _ in range(rounds):
            if self.process.stdout.readline() != b'round\n':
                raise AssertionError('a client ended by itself: %s' % self.process.wait())

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@unittest.skipUnless(ADDRESS, 'FRESHET_RDMA_ADDRESS names no device')
class KilledClients(unittest.TestCase):
    def setUp(self):
        self.call_port = harness.free_port()
        self.server = self.enterContext(harness.Server(arguments=[
            '--bind_ip', '127.0.0.1,' + ADDRESS, '--rdma', '--rdmaPort', str(self.call_port), '--unsafe-listen-without-auth']))
        self.admin = self.enterContext(self.server.client(maxPoolSize=1)).admin
        self.proxy = self.enterContext(Proxy(self.server, arguments=['--require-rdma']))
        self.random = random.Random(harness.seed())
        self.clients = []
        self.addCleanup(lambda: [client.kill() for client in self.clients])

    def rdma(self):
        return self.admin.command('serverStatus')['rdma']

    def client(self, kind):
        if kind == 'proxy':
            words = [sys.executable, '-B', DRIVER, str(self.proxy.port), str(EACH), str(self.random.random())]
        else:
            port, way = (self.server.port, 'true') if kind == 'native' else (self.call_port, 'cm')
            uri = 'mongodb://%s:%d/shop?rdma=%s' % (ADDRESS, port, way)
            words = [harness.program('freshet'), '--nodb', '--quiet', '--eval', NATIVE % (EACH, uri)]
        return Client(words, env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))

    def kill_some(self, connects):
        """Has SESSIONS sessions, and then kills clients and starts others until there were so many connects."""
        until_made = self.rdma()['sessionsMade'] + connects
        kinds = ['proxy', 'native', 'proxy', 'call'] * (SESSIONS // EACH // 4)
        self.clients = [self.client(kind) for kind in kinds]
        for client in self.clients:
            client.wait(1)
        self.assertEqual(self.rdma()['sessions'], SESSIONS)
        while self.rdma()['sessionsMade'] < until_made:
            which = self.random.randrange(len(kinds))
            self.clients[which].wait(self.random.randrange(3))  # 0: while it connects, perhaps
            self.clients[which].kill()
            self.clients[which] = self.client(kinds[which])
        for client in self.clients:
            client.kill()
        self.clients = []
        until(lambda: self.rdma()['sessions'] == 0)

    def test_nothing_is_left(self):
        self.kill_some(SESSIONS)  # what the first ones cost stays
        processes = {'server': Process(self.server.process.pid), 'proxy': Process(self.proxy.process.pid)}
        descriptors = {name: process.held()['descriptors'] for name, process in processes.items()}
        resident = {name: process.status('VmRSS') for name, process in processes.items()}
        began = time.monotonic()
        self.kill_some(CONNECTS)
        for name, process in processes.items():
            until(lambda: process.held()['descriptors'] <= descriptors[name])
            after = process.held()
            self.assertEqual((after['queue pairs'], after['rings'], after['pinned kB']), (0, 0, 0))
            grown = process.status('VmRSS') - resident[name]
            print('%s after %d connects: %s; resident kB: %d, and %d more' % (name, CONNECTS, after, resident[name], grown))
            self.assertLess(grown, RESIDENT_KB_MORE)
        print('in %d s' % (time.monotonic() - began), flush=True)

    def test_a_killed_proxy_leaves_nothing(self):
        clients = [self.client('proxy') for _ in range(2)]
        self.clients = clients
        for client in clients:
            client.wait(1)
        self.assertEqual(self.rdma()['sessions'], 2 * EACH)
        self.proxy.process.kill()
        until(lambda: self.rdma()['sessions'] == 0)
        self.assertEqual(Process(self.server.process.pid).held()['queue pairs'], 0)


if __name__ == '__main__':
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""freshet-rdma-proxy as a driver sees it: nothing. Without FRESHET_RDMA_ADDRESS the connection to the server stays on
TCP, which tests all but the adapter; rdma_lab gives it the address of a Soft-RoCE device."""
import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

pymongo = harness.import_pymongo()
import bson  # noqa: E402  (pymongo's)

ADDRESS = os.environ.get('FRESHET_RDMA_ADDRESS')
DEVICE_ARGUMENTS = ['--bind_ip', '127.0.0.1,' + ADDRESS, '--rdma', '--rdmaOneSlot'] if ADDRESS else []
SERVER_ARGUMENTS = DEVICE_ARGUMENTS + ['--unsafe-listen-without-auth']
LARGEST = 16 * 1024 * 1024
IN_TIME = {'serverSelectionTimeoutMS': 30000, 'directConnection': True}


def until(condition, seconds=120):
    """Until the other process has noticed."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError('not within %d s' % seconds)
        time.sleep(0.02)


class Proxy:
    """A freshet-rdma-proxy before a server. Use as a context manager."""

    def __init__(self, server, listen=None, arguments=()):
        self.port = harness.free_port()
        self.listen = listen or '127.0.0.1:%d' % self.port
        self.log = os.path.join(server.directory, 'proxy-%d.log' % self.port)
        self.command = [harness.program('freshet-rdma-proxy'), '--listen', self.listen,
                        '--server', '%s:%d' % (ADDRESS or '127.0.0.1', server.port)] + list(arguments)

    def __enter__(self):
        with open(self.log, 'wb') as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        until(lambda: 'Waiting for drivers' in self.log_text() or self.process.poll() is not None)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def log_text(self):
        with open(self.log, encoding='utf-8', errors='replace') as text:
            return text.read()

    def client(self, **options):
        return pymongo.MongoClient('127.0.0.1', self.port, **dict(IN_TIME, **options))

    def descriptors(self):
        return len(os.listdir('/proc/%d/fd' % self.process.pid))


class ProxyTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(harness.Server(arguments=SERVER_ARGUMENTS))
        self.proxy = self.enterContext(Proxy(self.server))
        self.direct = self.enterContext(self.server.client())

    def expect_way(self):
        """What the log says of how the proxy reaches the server."""
        log = self.proxy.log_text()
        self.assertEqual(log.count('go over RDMA' if ADDRESS else 'no RDMA'), 1, log)

    def same(self, name, **options):
        """Documents of all sizes go out one way, come in by the other, and are the same."""
        source = random.Random(harness.seed())
        through, direct = self.enterContext(self.proxy.client(**options)).shop[name], self.direct.shop[name]
        overhead = len(bson.encode({'_id': 0, 'value': b''}))
        for number, size in enumerate((0, 1024, 65536, 1 << 20, LARGEST - overhead)):
            value = source.randbytes(size // 2) + bytes(size - size // 2)
            through.insert_one({'_id': number, 'value': value})
            self.assertEqual(direct.find_one({'_id': number})['value'], value)
            self.assertEqual(through.find_one({'_id': number})['value'], value)
        raw = bson.raw_bson.RawBSONDocument
        for document in through.find(batch_size=2).sort('_id'):
            other = direct.with_options(bson.CodecOptions(document_class=raw)).find_one({'_id': document['_id']})
            self.assertEqual(bytes(other.raw), bson.encode(document))

    def test_documents_of_all_sizes(self):
        self.same('plain')
        self.expect_way()

    def test_compressed(self):
        """By zlib, which every pymongo has."""
        def came():
            return self.direct.admin.command('serverStatus')['network']['bytesIn']
        self.same('packed', compressors='zlib')
        with self.proxy.client(compressors='zlib') as client:
            before = came()
            client.shop.zeros.insert_one({'value': bytes(4 << 20)})
            self.assertLess(came() - before, 1 << 20)

    def test_bytes_pass_unchanged(self):
        """A message that no driver would send: the server's answer, byte for byte, is that which it gives itself."""
        body = bson.encode({'ping': 1, '$db': 'admin'})
        message = struct.pack('<iiiiiB', 21 + len(body), 7, 0, 2013, 0, 0) + body

        def ask(port):
            with socket.create_connection(('127.0.0.1', port)) as connection:
                for byte in message + message:  # two requests, a byte at a time
                    connection.sendall(bytes([byte]))
                answer = b''
                while len(answer) < 16 or len(answer) < 2 * struct.unpack_from('<i', answer)[0]:
                    part = connection.recv(65536)
                    self.assertTrue(part)
                    answer += part
                half = len(answer) // 2
                return [part[:4] + part[8:] for part in (answer[:half], answer[half:])]  # but for its own id
        self.assertEqual(ask(self.proxy.port), ask(self.server.port))

    def test_unacknowledged_writes_before_the_end_arrive(self):
        total = 0
        for _ in range(10):
            with self.proxy.client() as client:
                quiet = client.shop.get_collection('quiet', write_concern=pymongo.WriteConcern(w=0))
                for _ in range(20):
                    quiet.insert_one({'pad': 'q' * 3000})
                    total += 1
        until(lambda: self.direct.shop.quiet.count_documents({}) == total)

    def test_killed_drivers_leave_nothing(self):
        with self.proxy.client() as client:
            client.shop.c.insert_one({})
        until(self.is_server_left)
        before = self.proxy.descriptors()
        script = ('import sys, pymongo\n'
                  'c = pymongo.MongoClient("127.0.0.1", %d, directConnection=True)\n'
                  'print(c.shop.c.count_documents({}), flush=True)\n'
                  'while True: c.shop.c.insert_one({"pad": "x" * 100000})\n' % self.proxy.port)
        for _ in range(3):
            child = subprocess.Popen([sys.executable, '-c', script], stdout=subprocess.PIPE,
                                     env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
            self.assertTrue(child.stdout.readline())
            child.kill()
            child.wait()
            child.stdout.close()
        until(lambda: self.proxy.descriptors() <= before)
        until(self.is_server_left)

    def is_server_left(self):
        """Only by us, not through the proxy."""
        status = self.direct.admin.command('serverStatus')
        return status['connections']['current'] <= 4 and status.get('rdma', {}).get('sessions', 0) == 0

    def test_a_killed_server_is_found_again(self):
        client = self.enterContext(self.proxy.client(retryReads=False))
        client.shop.c.insert_one({'_id': 1})
        self.direct.close()
        self.server.kill()
        impatient = self.enterContext(self.proxy.client(connectTimeoutMS=2000))
        with self.assertRaises(pymongo.errors.PyMongoError), pymongo.timeout(1):
            impatient.shop.c.find_one()
        self.assertIn('Refused a connection', self.proxy.log_text())
        self.server.start()
        until(lambda: self.finds(client))
        impatient.close()

    @staticmethod
    def finds(client):
        try:
            return client.shop.c.find_one() == {'_id': 1}
        except pymongo.errors.AutoReconnect:
            return False

    def test_many_at_once(self):
        client = self.enterContext(self.proxy.client(maxPoolSize=16))

        def work(number):
            for step in range(20):
                client.shop.many.insert_one({'_id': number * 100 + step, 'pad': 'm' * number * 1000})
        threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.direct.shop.many.count_documents({}), 16 * 20)

    def test_a_unix_socket_is_a_door_too(self):
        path = os.path.join(self.server.directory, 'proxy.sock')
        with Proxy(self.server, path) as proxy:
            with pymongo.MongoClient('mongodb://' + path.replace('/', '%2F'), **IN_TIME) as client:
                self.assertEqual(client.shop.command('ping')['ok'], 1)
            proxy.process.terminate()
            self.assertEqual(proxy.process.wait(30), 0)
        self.assertFalse(os.path.exists(path))

    def test_its_end_is_seen(self):
        client = self.enterContext(self.proxy.client(serverSelectionTimeoutMS=300))
        client.shop.command('ping')
        self.proxy.process.terminate()
        self.assertEqual(self.proxy.process.wait(30), 0)
        with self.assertRaises(pymongo.errors.PyMongoError):
            client.shop.command('ping')

    @unittest.skipIf(ADDRESS, 'there is a device')
    def test_rdma_can_be_required(self):
        with Proxy(self.server, arguments=['--require-rdma']) as proxy:
            self.assertEqual(proxy.process.wait(30), 1)
            self.assertIn('RDMA', proxy.log_text())


class NativeTest(unittest.TestCase):
    """Our own programs need no proxy."""

    def setUp(self):
        self.server = self.enterContext(harness.Server(arguments=SERVER_ARGUMENTS))
        self.address = '%s:%d' % (ADDRESS or '127.0.0.1', self.server.port)

    def run_program(self, name, *arguments):
        return subprocess.run([harness.program(name), *arguments], capture_output=True, text=True, check=False,
                              timeout=240)

    def test_the_shell(self):
        done = self.run_program('freshet', 'mongodb://%s/shop?rdma=true' % self.address, '--quiet', '--eval',
                                'db.c.insertOne({_id: 1, pad: "x".repeat(100000)}); db.c.findOne().pad.length')
        self.assertEqual((done.returncode, done.stdout.strip()), (0, '100000'), done.stderr)
        self.assertEqual('stays on TCP' in done.stderr, not ADDRESS, done.stderr)

    def test_a_large_document_leaves_without_a_copy(self):
        sizes = [17000, 100000, 3000000]
        done = self.run_program('freshet', 'mongodb://%s/shop?rdma=true' % self.address, '--quiet', '--eval', """
            const sent = () => Number((db.serverStatus().rdma || {}).bytesSentInPlace || 0);
            db.c.insertMany(%s.map(n => ({_id: n, pad: "x".repeat(n)})));
            print(%s.map(n => {
                const before = sent();
                const found = db.c.findOne({_id: n}).pad.length;
                return (found === n) + " " + (sent() - before >= n);
            }).join());""" % (sizes, sizes))
        each = 'true true' if ADDRESS else 'true false'
        self.assertEqual((done.returncode, done.stdout.strip()), (0, ','.join([each] * 3)), done.stderr)

    def test_current_op_tells_what_each_connection_goes_over(self):
        """The shell's own operation, as the server sees it."""
        ask = 'db.getSiblingDB("admin").aggregate([{$currentOp: {}}]).toArray().map(op => op.transport).join()'
        socket_path = '%2Ftmp%2Fmongodb-' + str(self.server.port) + '.sock'
        for where, expected in (('mongodb://%s/?rdma=true' % self.address, 'rdma' if ADDRESS else 'tcp'),
                                ('mongodb://%s/' % self.address, 'tcp'), ('mongodb://%s/' % socket_path, 'unix')):
            done = self.run_program('freshet', where, '--quiet', '--eval', ask)
            self.assertEqual((done.returncode, done.stdout.strip()), (0, expected), done.stderr)

    def test_rdma_check(self):
        done = self.run_program('freshet', '--rdma-check', self.address)
        if ADDRESS:
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn('A ping came back over RDMA', done.stdout)
            return
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r'  no    .*\n        To mend it: ')
        self.assertIn('It listens for TCP', done.stdout)
        self.assertIn('RDMA does not work between here and %s.' % self.address, done.stdout)

    def test_the_load(self):
        """Its rows over RDMA are over RDMA, or not there."""
        harness.need('freshet-bench')
        for transport in ('rdma', 'rdma-oneslot'):
            done = self.run_program('freshet-bench', 'wire', '--transport', transport, '--uri', 'mongodb://' + self.address,
                                    '--clients', '2', '--seconds', '1', '--records', '100', '--stages', '--json')
            if not ADDRESS:
                self.assertEqual(done.returncode, 1)
                self.assertIn('stays on TCP', done.stderr)
                continue
            rows = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual([(row['op'], row['transport']) for row in rows], [('get', transport), ('put', transport)], done.stderr)
            self.assertTrue(all(row['ops'] > 0 for row in rows), rows)
            print(done.stdout, end='', flush=True)


class CallTest(unittest.TestCase):
    """Clients that come by the RDMA connection manager alone."""

    def setUp(self):
        self.port = harness.free_port()
        arguments = SERVER_ARGUMENTS + ([] if ADDRESS else ['--rdma']) + ['--rdmaPort', str(self.port)]
        self.server = self.enterContext(harness.Server(arguments=arguments))
        self.admin = self.enterContext(self.server.client()).admin
        self.shell = [harness.program('freshet'), 'mongodb://%s:%d/shop?rdma=cm' % (ADDRESS or '127.0.0.1', self.port)]

    def rdma_status(self):
        return self.admin.command('serverStatus')['rdma']

    @unittest.skipIf(ADDRESS, 'there is a device')
    def test_without_a_device(self):
        """The server serves TCP as ever; who wants RDMA alone is told that there is none."""
        done = subprocess.run(self.shell + ['--ping'], capture_output=True, text=True, check=False, timeout=240)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn('RDMA', done.stderr)
        self.assertEqual(self.rdma_status()['callsTaken'], 0)

    @unittest.skipUnless(ADDRESS, 'FRESHET_RDMA_ADDRESS names no device')
    def test_without_tcp(self):
        text = 'db.c.insertOne({pad: "x".repeat(100000)}); db.c.findOne().pad.length'
        done = subprocess.run(self.shell + ['--quiet', '--eval', text], capture_output=True, text=True, check=False, timeout=240)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, '100000'), done.stderr)
        until(lambda: self.rdma_status()['sessions'] == 0)
        self.assertGreaterEqual(self.rdma_status()['callsTaken'], 1)
        done = subprocess.run([harness.program('freshet'), '--rdma-check', self.shell[1]], capture_output=True, text=True,
                              check=False, timeout=240)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn('It took the call', done.stdout)

    @unittest.skipUnless(ADDRESS, 'FRESHET_RDMA_ADDRESS names no device')
    def test_a_client_that_dies_leaves_nothing(self):
        """Its kernel hangs up for it, and that is all that the server hears."""
        child = subprocess.Popen(self.shell + ['--quiet', '--eval', 'print("there"); sleep(600000)'], stdout=subprocess.PIPE)
        self.assertEqual(child.stdout.readline().strip(), b'there')
        self.assertGreaterEqual(self.rdma_status()['sessions'], 1)
        child.kill()
        child.wait()
        child.stdout.close()
        until(lambda: self.rdma_status()['sessions'] == 0)


class LoginTest(unittest.TestCase):
    def test_logins_are_the_drivers_own(self):
        server = self.enterContext(harness.Server(arguments=['--auth'] + DEVICE_ARGUMENTS))
        with server.client() as first:
            first.admin.command('createUser', 'ann', pwd='pw', roles=['root'])
        proxy = self.enterContext(Proxy(server))
        for mechanism in ('SCRAM-SHA-256', 'SCRAM-SHA-1'):
            with proxy.client(username='ann', password='pw', authMechanism=mechanism) as client:
                client.shop.c.insert_one({})
        with proxy.client(username='ann', password='no') as client:
            self.assertRaises(pymongo.errors.OperationFailure, client.shop.c.find_one)
        with proxy.client() as client:
            self.assertRaises(pymongo.errors.OperationFailure, client.shop.c.find_one)


class CommandLineTest(unittest.TestCase):
    def test_help_and_mistakes(self):
        def run(*arguments):
            done = subprocess.run([harness.program('freshet-rdma-proxy'), *arguments], capture_output=True, text=True,
                                  check=False, timeout=60)
            return done.returncode, done.stdout, done.stderr
        code, out, _ = run('--help')
        self.assertEqual(code, 0)
        for option in ('--listen', '--server', '--require-rdma'):
            self.assertIn(option, out)
        for wrong in ([], ['--server', 'h', '--listen', '0.0.0.0:1'], ['--serve', 'h']):
            code, _, error = run(*wrong)
            self.assertEqual(code, 2)
            self.assertIn('freshet-rdma-proxy: ', error)


if __name__ == '__main__':
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Messages and replies in transport under a small memory ceiling: half-sent messages, replies that nobody reads,
slow and silent peers, before and after login. A bystander is served beside them, and the resident set stays
bounded. Long passes over a reactor's queue are counted and logged."""
import contextlib
import os
import socket
import struct
import sys
import threading
import time
import unittest
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

harness.import_pymongo()
import bson  # noqa: E402

OP_MSG, OP_COMPRESSED = 2013, 2012
MIB = 1024 * 1024
CEILING_GB = 0.25
RESIDENT_MAX = 1.25 * CEILING_GB * 1024 * MIB + 64 * MIB


def message(document, length=None):
    payload = struct.pack('<I', 0) + b'\0' + bson.encode(document)
    return struct.pack('<iiii', 16 + len(payload) if length is None else length, 1, 0, OP_MSG) + payload


def read_reply(connection):
    """None when the server ended the connection."""
    data = bytearray()
    while len(data) < 4 or len(data) < struct.unpack_from('<i', data)[0]:
        try:
            more = connection.recv(1 << 20)
        except ConnectionError:
            return None
        if not more:
            return None
        data += more
    return bson.decode(bytes(data[21:]))


class Bystander:
    """Pings and finds on connections of its own, until it is stopped."""

    def __init__(self, server, **options):
        self.client = server.client(**options)
        self.stop_asked, self.rounds, self.worst, self.failure = threading.Event(), 0, 0.0, None
        self.peak = 0
        self.server = server
        self.client.bystander.kept.insert_many([{'_id': i, 'a': 'x' * 500} for i in range(100)])
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            while not self.stop_asked.is_set():
                began = time.monotonic()
                assert self.client.admin.command('ping')['ok'] == 1
                assert self.client.bystander.kept.find_one({'_id': self.rounds % 100})
                assert len(list(self.client.bystander.kept.find({}))) == 100
                self.worst = max(self.worst, time.monotonic() - began)
                self.rounds += 1
                self.peak = max(self.peak, resident(self.server))
                time.sleep(0.02)
        except Exception as failure:  # for the test's thread
            self.failure = failure

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop_asked.set()
        self.thread.join()
        self.client.close()


def resident(server):
    with open('/proc/%d/status' % server.process.pid, encoding='utf-8') as status:
        return int(next(line for line in status if line.startswith('VmRSS')).split()[1]) * 1024


class MemoryTest(unittest.TestCase):
    arguments = []

    def setUp(self):
        self.server = harness.Server(arguments=['--memoryLimitGB', str(CEILING_GB), '--setParameter', 'enableTestCommands=1'] + self.arguments).start()
        self.addCleanup(self.server.__exit__)
        self.sockets = contextlib.ExitStack()
        self.addCleanup(self.sockets.close)

    def dial(self, timeout=60):
        connection = socket.create_connection(('127.0.0.1', self.server.port))
        connection.settimeout(timeout)
        self.sockets.enter_context(connection)
        return connection

    def dial_many(self, count):
        return [self.dial() for _ in range(count)]

    def send_some(self, connections, data):
        """As much of `data` to each as the server takes, without waiting for it."""
        for connection in connections:
            connection.setblocking(False)
        left = {connection: memoryview(data) for connection in connections}
        last = time.monotonic()
        while left and time.monotonic() - last < 3:
            for connection in list(left):
                try:
                    sent = connection.send(left[connection][:1 << 20])
                except BlockingIOError:
                    continue
                except ConnectionError:
                    del left[connection]
                    continue
                last = time.monotonic()
                left[connection] = left[connection][sent:]
                if not left[connection]:
                    del left[connection]
            time.sleep(0.001)

    def memory(self):
        with contextlib.closing(self.server.client()) as client:
            return client.admin.command('serverStatus')['freshet']['requestMemory']

    def idle_cursors(self):
        with contextlib.closing(self.server.client()) as client:
            return client.admin.command('serverStatus')['metrics']['cursor']['idleBytes']

    def wait_until_free(self):
        """But for cursors that wait: another connection may ask them for more."""
        deadline = time.monotonic() + 60
        while self.memory()['bytes'] - self.idle_cursors() > 2 * MIB:
            self.assertLess(time.monotonic(), deadline, self.memory())
            time.sleep(0.05)

    def assert_bounded(self, bystander):
        self.assertIsNone(bystander.failure)
        self.assertGreater(bystander.rounds, 0)
        print('%s: %d MiB resident at most, worst round of the bystander %.3f s' % (self.id().split('.')[-1], bystander.peak // MIB, bystander.worst), flush=True)
        self.assertLess(bystander.peak, RESIDENT_MAX)


class MessagesTest(MemoryTest):
    def test_half_sent_messages(self):
        body = message({'insert': 'c', 'documents': [{'a': 'x' * 15 * MIB}], '$db': 'attack'}, length=48_000_000)
        with Bystander(self.server) as bystander:
            self.send_some(self.dial_many(100), body + bytes(40_000_000 - len(body)))
            time.sleep(5)
            self.assert_bounded(bystander)
        self.sockets.close()
        self.wait_until_free()

    def test_a_long_message_gets_through_beside_silent_ones(self):
        half = message({'ping': 1}, length=48_000_000)
        silent = self.dial_many(2)
        for connection in silent:
            connection.sendall(half)
        whole = message({'insert': 'c', 'documents': [{'a': 'x' * 12 * MIB}], '$db': 'attack'})
        connection = self.dial(100)
        connection.sendall(whole)
        self.assertEqual(read_reply(connection)['ok'], 1)
        self.assertTrue('too slow to go on' in self.server.log_text())
        small = self.dial()
        small.sendall(message({'insert': 'c', 'documents': [{'a': 'x' * 30_000}], '$db': 'attack'}))
        self.assertEqual(read_reply(small)['ok'], 1)

    def test_peers_that_leave_and_the_end_of_the_server(self):
        half = message({'ping': 1}, length=48_000_000)
        waiting = self.dial_many(8)
        for connection in waiting:
            connection.sendall(half + bytes(100_000))
        time.sleep(0.3)
        for connection in waiting[::2]:
            connection.close()
        with contextlib.closing(self.server.client()) as client:
            deadline = time.monotonic() + 20
            while client.admin.command('serverStatus')['connections']['current'] > 4 + 3:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
        self.assertEqual(self.server.stop(20), 0)

    def test_messages_of_a_mebibyte_wait_and_are_answered(self):
        """Each sends slowly: together they are more than the pool has."""
        whole = message({'insert': 'c', 'documents': [{'a': 'x' * 900_000}], '$db': 'attack'})
        connections = self.dial_many(100)
        with Bystander(self.server) as bystander:
            for start in range(0, len(whole), 100_000):
                self.send_some(connections, whole[start:start + 100_000])
            for connection in connections:
                connection.setblocking(True)
            self.assert_bounded(bystander)
        for connection in connections:
            self.assertEqual(read_reply(connection)['ok'], 1)

    def test_fifteen_bytes_of_a_header(self):
        with Bystander(self.server) as bystander:
            connections = self.dial_many(min(10_000, self.files() // 2))
            for connection in connections:
                connection.sendall(message({'ping': 1})[:15])
            time.sleep(1)
            self.assert_bounded(bystander)

    @staticmethod
    def files():
        import resource
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        return hard

    def test_pipelined_small_messages_that_nobody_reads_answers_of(self):
        pings = message({'buildInfo': 1, '$db': 'admin'}) * 700
        with Bystander(self.server) as bystander:
            connections = self.dial_many(min(1_000, self.files() // 2))
            for connection in connections:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            self.send_some(connections, pings * 20)
            self.assert_bounded(bystander)


class RepliesTest(MemoryTest):
    def setUp(self):
        super().setUp()
        with contextlib.closing(self.server.client()) as client:
            client.attack.big.insert_many([{'_id': i, 'a': 'x' * 2_000} for i in range(10_000)])
        self.find = message({'find': 'big', 'batchSize': 100_000, '$db': 'attack'})

    def test_who_does_not_read_is_ended(self):
        with Bystander(self.server) as bystander:
            self.send_some(self.dial_many(60), self.find * 20)
            deadline = time.monotonic() + 60
            while 'too slow to go on' not in self.server.log_text():
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.1)
            self.assertIsNone(bystander.failure)
        self.sockets.close()
        self.wait_until_free()

    def test_unread_finds(self):
        with Bystander(self.server) as bystander:
            self.send_some(self.dial_many(50), self.find * 20)
            time.sleep(8)
            self.assert_bounded(bystander)
        self.sockets.close()
        self.wait_until_free()


class StrangersTest(MemoryTest):
    arguments = ['--auth']

    def test_a_small_packed_message_that_is_large(self):
        plain = struct.pack('<I', 0) + b'\0' + bson.encode({'hello': 1, 'comment': 'x' * 1_000_000, '$db': 'admin'})
        packed = zlib.compress(plain, 9)
        raw = struct.pack('<iiiiiiB', 25 + len(packed), 1, 0, OP_COMPRESSED, OP_MSG, len(plain), 2) + packed
        self.assertLess(len(raw), 64 * 1024)
        connection = self.dial()
        connection.sendall(raw)
        self.assertIsNone(read_reply(connection))
        plain = struct.pack('<I', 0) + b'\0' + bson.encode({'hello': 1, 'comment': 'x' * 50_000, '$db': 'admin'})
        packed = zlib.compress(plain, 9)
        connection = self.dial()
        connection.sendall(struct.pack('<iiiiiiB', 25 + len(packed), 1, 0, OP_COMPRESSED, OP_MSG, len(plain), 2) + packed)
        self.assertEqual(read_reply(connection)['ok'], 1)

    def test_what_strangers_make_us_keep(self):
        before = resident(self.server)
        connections = self.dial_many(200)
        pings = message({'listCommands': 1, '$db': 'admin'}) * 200
        self.send_some(connections, pings)
        self.assertLess(resident(self.server) - before, 200 * 300 * 1024)


class LongPassTest(MemoryTest):
    def test_a_long_pass_is_counted_and_logged(self):
        with contextlib.closing(self.server.client()) as client:
            before = client.admin.command('serverStatus')['freshet']['reactors']
            client.admin.command('configureFailPoint', 'failCommand', mode={'times': 1},
                                 data={'failCommands': ['find'], 'holdThreadMS': 150})
            self.assertEqual(list(client.attack.some.find({})), [])
            after = client.admin.command('serverStatus')['freshet']['reactors']
            self.assertGreater(after['longPasses'], before['longPasses'])
            self.assertGreater(after['longestPassMicros'], 100_000)
        lines = [line for line in self.server.log_text().splitlines() if 'held up other connections' in line]
        self.assertTrue(any('"command":"find"' in line and '"ns":"attack.some"' in line for line in lines), lines)


if __name__ == '__main__':
    unittest.main()

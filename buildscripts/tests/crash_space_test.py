# SPDX-License-Identifier: Apache-2.0
"""No room on the disk: what would add to the data is refused with OutOfDiskSpace, reading and deleting go on,
everything is accepted again by itself when there is room, and nothing acknowledged is lost."""
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import crash_loop  # noqa: E402
import harness  # noqa: E402

pymongo = harness.import_pymongo()
SECONDS = 60  # for whatever must come
DATA_FILE_FULL = 'write */data.freshet error nospace growing times=0'
# As where every block is written to a new place. Nothing, a part or all of the refused superblock is in the file.
SUPERBLOCKS_REFUSED = ['write */data.freshet %s nospace below=8192 times=0' % kind for kind in ('error', 'short', 'late')]


class Reader:
    """Reads all the time, and keeps what goes wrong with it."""

    def __init__(self, server):
        self.client, self.stop, self.reads, self.problems = server.client(), threading.Event(), 0, []
        self.thread = threading.Thread(target=self.work)

    def work(self):
        while not self.stop.is_set():
            try:
                if self.client.space.docs.find_one({'_id': 0})['n'] != 0:
                    raise AssertionError('another document')
                self.reads += 1
            except Exception as problem:  # whatever it is, the test tells
                self.problems.append(problem)
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.client.close()


class SpaceTest(unittest.TestCase):
    def setUp(self):
        self.there, self.next = {}, 0

    def insert(self, client):
        """Whether it was accepted; a refusal must name the reason."""
        document = {'_id': self.next, 'n': self.next, 'pad': '%d ' % self.next * 4000}
        try:
            client.space.docs.insert_one(document)
        except pymongo.errors.PyMongoError as error:
            self.assertTrue(crash_loop.is_refusal(error), error)
            return False
        self.there[self.next] = document
        self.next += 1
        return True

    def fill(self, client):
        deadline = time.monotonic() + SECONDS
        while self.insert(client):
            self.assertLess(time.monotonic(), deadline, 'the disk is full and nothing is refused')

    def await_acceptance(self, client):
        deadline = time.monotonic() + SECONDS
        while not self.insert(client):
            self.assertLess(time.monotonic(), deadline, 'there is room and everything is refused')
            time.sleep(0.05)

    def expect_all(self, client):
        self.assertEqual({doc['_id']: doc for doc in client.space.docs.find()}, self.there)
        self.assertTrue(client.space.command('validate', 'docs')['valid'])

    def refuse_and_go_on(self, client):
        """While it is full: what adds is refused, what takes away is not."""
        with self.assertRaises(pymongo.errors.PyMongoError) as refused:
            client.space.docs.update_one({'_id': 1}, {'$set': {'pad': 'y' * 50000}})
        self.assertTrue(crash_loop.is_refusal(refused.exception), refused.exception)
        self.assertEqual(client.space.docs.delete_one({'_id': 2}).deleted_count, 1)
        del self.there[2]
        self.expect_all(client)

    def restart(self, server):
        server.kill()
        if server.process.stdin:
            server.process.stdin.close()
        server.stdin = subprocess.DEVNULL
        server.start()
        with server.client() as client:
            self.expect_all(client)
            self.assertTrue(self.insert(client))
        self.assertEqual(server.stop(), 0)

    @staticmethod
    def simulated():
        """A server, and what tells its disk what to do."""
        server = harness.Server('freshetd-sim', arguments=['--syncdelay', '0.1'])
        server.stdin = subprocess.PIPE

        def say(line):
            server.process.stdin.write((line + '\n').encode())
            server.process.stdin.flush()
        return server, say

    def test_superblocks_that_find_no_room(self):
        for fault in SUPERBLOCKS_REFUSED:
            with self.subTest(fault):
                self.setUp()
                server, say = self.simulated()
                with server:
                    with server.client(retryWrites=False) as client:
                        for _ in range(50):
                            self.assertTrue(self.insert(client))
                        with Reader(server) as reader:
                            say(fault)
                            self.fill(client)
                            self.refuse_and_go_on(client)
                            say('cancel')
                            self.await_acceptance(client)
                            say(fault)
                            self.fill(client)
                        self.assertEqual(reader.problems, [])
                    self.restart(server)

    def test_a_data_file_that_cannot_grow(self):
        server, say = self.simulated()
        with server:
            with server.client(retryWrites=False) as client:
                for _ in range(50):
                    self.assertTrue(self.insert(client))
                # Much more than what is kept free, also when it is compressed.
                client.space.other.insert_many([{'n': n, 'pad': os.urandom(9000)} for n in range(3000)])
                with Reader(server) as reader:
                    say(DATA_FILE_FULL)
                    self.fill(client)
                    self.assertTrue(client.admin.command('serverStatus')['freshet']['engine']['spaceShort'])
                    self.refuse_and_go_on(client)
                    say('cancel')
                    self.await_acceptance(client)
                    say(DATA_FILE_FULL)
                    self.fill(client)
                    client.space.other.drop()
                    self.await_acceptance(client)
                    say('cancel')
                self.assertEqual(reader.problems, [])
                self.assertGreater(reader.reads, 10)
            self.restart(server)

    def test_a_full_file_system(self):
        directory = tempfile.mkdtemp(prefix='freshet-space-')
        mount = ['mount', '-t', 'tmpfs', '-o', 'size=100m', 'tmpfs', directory]
        if subprocess.run(mount, capture_output=True).returncode != 0:
            os.rmdir(directory)
            self.skipTest('a file system of its own cannot be mounted here')
        server = harness.Server(directory=directory, arguments=['--syncdelay', '0.1'])
        try:
            with server:
                with server.client(retryWrites=False) as client:
                    for _ in range(50):
                        self.assertTrue(self.insert(client))
                    with Reader(server) as reader:
                        self.take_all(directory)
                        self.fill(client)
                        self.expect_all(client)
                        os.remove(directory + '/ballast')
                        self.await_acceptance(client)
                    self.assertEqual(reader.problems, [])
                self.restart(server)
        finally:
            subprocess.run(['umount', directory], check=True)
            os.rmdir(directory)

    @staticmethod
    def take_all(directory):
        with open(directory + '/ballast', 'wb', buffering=0) as ballast:
            try:
                while True:
                    ballast.write(bytes(1 << 16))
            except OSError:
                pass


if __name__ == '__main__':
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""A disk of 64 MB: enough to begin, to be filled, to delete and to go on. It is a file system in memory; where nothing
can be mounted the test is skipped."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

pymongo = harness.import_pymongo()
MEGABYTE = 1 << 20
OUT_OF_DISK_SPACE = 14031
SECONDS = 60  # for whatever must come


class SmallDiskTest(unittest.TestCase):
    def mount(self, megabytes):
        directory = tempfile.mkdtemp(prefix='freshet-test-')
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        disk = os.path.join(directory, 'db')
        os.mkdir(disk)
        mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=%dm' % megabytes, 'freshet-test', disk], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest('nothing can be mounted here: %s' % mounted.stderr.decode(errors='replace').strip())
        self.addCleanup(subprocess.run, ['umount', disk])
        return directory

    def insert(self, client, first, count, size=100):
        client.small.docs.insert_many([{'_id': i, 'pad': '%08d' % i * (size // 8)} for i in range(first, first + count)])

    def fill(self, client, size):
        """Until it is refused; how many are there then."""
        deadline = time.monotonic() + SECONDS
        number = 1_000_000
        while True:
            self.assertLess(time.monotonic(), deadline, 'the disk is full and nothing is refused')
            try:
                client.small.docs.insert_one({'_id': number, 'pad': os.urandom(size)}, )
                number += 1
            except pymongo.errors.PyMongoError as error:
                self.assertEqual(error.code, OUT_OF_DISK_SPACE, error)
                return client.small.docs.count_documents({})

    def await_success(self, call):
        """What is refused at first while a checkpoint makes room is accepted soon."""
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                return call()
            except pymongo.errors.PyMongoError as error:
                self.assertEqual(error.code, OUT_OF_DISK_SPACE, error)
                self.assertLess(time.monotonic(), deadline, 'it is refused for ever')
                time.sleep(0.1)

    def test_64_megabytes(self):
        directory = self.mount(64)
        with harness.Server(directory=directory) as server:
            self.assertIn('a new store wants', server.log_text())
            with server.client() as client:
                for first in range(0, 20_000, 1000):
                    self.insert(client, first, 1000)
            self.assertEqual(server.stop(), 0)
        with harness.Server(directory=directory) as server, server.client() as client:
            self.assertEqual(client.small.docs.count_documents({}), 20_000)
            self.insert(client, 20_000, 2000)
            there = self.fill(client, 10_000)
            self.assertGreater(there, 22_000 + 1000)  # 10 MB of them, at least
            self.assertEqual(client.small.docs.find_one({'_id': 21_999})['_id'], 21_999)
            # Deleting goes on, and then all is accepted again.
            for number in range(1_000_000, 1_000_000 + there - 22_000):
                deleted = self.await_success(lambda number=number: client.small.docs.delete_one({'_id': number}))
                self.assertEqual(deleted.deleted_count, 1)
            client.admin.command('fsync')
            self.await_success(lambda: client.small.docs.insert_one({'_id': 2_000_000, 'pad': 'x' * 100}))
        with harness.Server(directory=directory) as server:
            with server.client() as client:
                self.assertEqual(client.small.docs.count_documents({}), 22_001)
                self.assertTrue(client.small.command('validate', 'docs')['valid'])
            self.assertEqual(server.stop(), 0)

    def test_too_small(self):
        """It says so, by its name and number."""
        directory = self.mount(3)
        server = harness.Server(directory=directory)
        done = subprocess.run(server.command(), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 100, done.stdout[-2000:])
        self.assertIn('a new store wants', done.stdout)


if __name__ == '__main__':
    unittest.main()

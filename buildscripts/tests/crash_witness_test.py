# SPDX-License-Identifier: Apache-2.0
"""A killed server's log that then lost its end, or what stands beside it: refused with exit code 3 and the place. What
a kill alone leaves starts, and so does what is only gone where nobody needs it."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

DOCUMENTS = 8000
BATCH = 100
DAMAGED = 3
REPAIRED_WITH_LOSS = 4


def write_zeros(path, begin, end):
    with open(path, 'r+b') as data:
        data.seek(begin)
        data.write(b'\0' * (end - begin))


def log_end(path):
    """About where the blocks of a segment end; behind them are zeros."""
    with open(path, 'rb') as data:
        return len(data.read().rstrip(b'\0'))


class WitnessTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix='freshet-test-')
        cls.addClassCleanup(shutil.rmtree, cls.root)
        cls.killed = os.path.join(cls.root, 'killed')
        server = harness.Server(directory=cls.killed)
        # A client that ends asks a server to end its session; this one finds none.
        with server, server.client(serverSelectionTimeoutMS=3000) as client:
            for first in range(0, DOCUMENTS, BATCH):
                documents = [{'_id': i, 'pad': 'x' * 100} for i in range(first, first + BATCH)]
                client.test.docs.insert_many(documents)
            server.kill()

    def setUp(self):
        self.directory = os.path.join(self.root, self._testMethodName)
        shutil.copytree(self.killed, self.directory)
        self.addCleanup(shutil.rmtree, self.directory)
        self.journal = os.path.join(self.directory, 'db', 'journal')
        # Of the segments that hold blocks the last one. The server had not made a checkpoint since its start.
        self.segment = max(os.path.join(self.journal, name) for name in os.listdir(self.journal)
                           if name.startswith('j.') and log_end(os.path.join(self.journal, name)) != 0)

    def expect(self, documents, *arguments):
        with harness.Server(directory=self.directory, arguments=arguments) as server:
            with server.client() as client:
                self.assertEqual(client.test.docs.count_documents({}), documents)
            self.assertEqual(server.stop(), 0)
            return server.log_text()

    def refused(self, *places):
        server = harness.Server(directory=self.directory)
        for _ in range(2):  # and nothing is changed by that
            done = subprocess.run(server.command(), capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, DAMAGED, done.stdout[-2000:] + done.stderr)
            for place in places:
                self.assertIn(place, done.stdout + done.stderr)
        done = subprocess.run(server.command() + ['--repair'], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, REPAIRED_WITH_LOSS, done.stdout[-2000:] + done.stderr)
        with server:
            with server.client() as client:
                client.test.docs.insert_one({'_id': 'afterwards'})
                found = client.test.docs.count_documents({}) - 1
            server.kill()
        self.expect(found + 1)
        return found

    def test_damage_that_a_checkpoint_covers_is_no_loss(self):
        with harness.Server(directory=self.directory) as server:
            with server.client(serverSelectionTimeoutMS=3000) as client:
                client.admin.command('fsync')
                client.test.docs.insert_many([{'_id': 'late %d' % i} for i in range(10)])
                server.kill()
        size = log_end(self.segment)
        with open(self.segment, 'r+b') as data:
            data.seek(size // 3)
            before = data.read(16)
            data.seek(size // 3)
            data.write(bytes(byte ^ 0xff for byte in before))
        self.assertIn('the newest checkpoint has all that was in it', self.expect(DOCUMENTS + 10))

    def test_a_kill_alone_loses_nothing(self):
        self.assertIn('Unclean end detected', self.expect(DOCUMENTS))
        first = self.expect(DOCUMENTS)
        self.assertEqual(first.count('Unclean end detected'), 1)  # not again after a clean one

    def test_a_segment_cut_at_its_half(self):
        half = log_end(self.segment) // 2
        os.truncate(self.segment, half)
        self.assertLess(self.refused(self.segment + ' at offset '), DOCUMENTS)

    def test_a_segment_zeroed_from_its_half(self):
        end = log_end(self.segment)
        write_zeros(self.segment, end // 2, end)
        self.assertLess(self.refused(self.segment + ' at offset '), DOCUMENTS)

    def test_the_file_cut_at_half_of_its_size(self):
        size = os.path.getsize(self.segment)
        if log_end(self.segment) <= size // 2:
            os.truncate(self.segment, size // 2)
            self.expect(DOCUMENTS)  # nothing was there
        else:
            os.truncate(self.segment, size // 2)
            self.refused(self.segment + ' at offset ')

    def test_a_segment_that_is_gone(self):
        os.remove(self.segment)
        self.refused(self.journal)

    def test_a_ring_that_is_cut_or_gone(self):
        ring = os.path.join(self.journal, 'ring')
        if not os.path.exists(ring):
            self.skipTest('this file system shares no memory')
        whole = os.path.getsize(ring)
        os.truncate(ring, whole // 2)
        self.refused(ring)

    def test_a_witness_that_is_gone(self):
        witness = os.path.join(self.journal, 'durable')
        os.remove(witness)
        self.assertEqual(self.refused(witness), DOCUMENTS)

    def test_a_journal_that_is_gone(self):
        shutil.rmtree(self.journal)
        self.refused(self.journal)

    def test_a_closed_directory_needs_neither_ring_nor_witness(self):
        self.expect(DOCUMENTS)
        for name in ('ring', 'durable'):
            path = os.path.join(self.journal, name)
            if os.path.exists(path):
                os.remove(path)
        self.expect(DOCUMENTS)


if __name__ == '__main__':
    unittest.main()

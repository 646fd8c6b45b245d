# SPDX-License-Identifier: Apache-2.0
"""What was acknowledged without waiting for the disk (w: 1) outlives a server that is killed, as long as the
system lives: the journal's ring is a shared file (docs/decisions/0026). Skipped where the file system shares
no memory."""
import os
import random
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

ROUNDS = 5
CLIENTS = 4


class Inserter(threading.Thread):
    """Inserts one document after the other and keeps what was acknowledged."""

    def __init__(self, server, number):
        super().__init__()
        self.server, self.number, self.acknowledged = server, number, []

    def run(self):
        pymongo = harness.import_pymongo()
        client = self.server.client(w=1, retryWrites=False, serverSelectionTimeoutMS=5000)
        try:
            while True:
                key = '%d-%d' % (self.number, len(self.acknowledged))
                client.crash.docs.insert_one({'_id': key, 'pad': 'x' * (len(self.acknowledged) * 37 % 3000)})
                self.acknowledged.append(key)
        except pymongo.errors.PyMongoError:
            threading.Thread(target=client.close, daemon=True).start()


class CrashWrittenTest(unittest.TestCase):
    def test_a_killed_server_keeps_what_was_acknowledged_without_the_disk(self):
        chance = random.Random(harness.seed())
        # No checkpoint comes to help.
        with harness.Server(arguments=['--syncdelay', '3600']) as server:
            if not os.path.exists(os.path.join(server.directory, 'db', 'journal', 'ring')):
                self.skipTest('the file system of %s shares no memory' % server.directory)
            with server.client() as client:
                client.crash.create_collection('docs')
            kept = []
            for first in range(0, ROUNDS * CLIENTS, CLIENTS):
                inserters = [Inserter(server, first + i) for i in range(CLIENTS)]
                for inserter in inserters:
                    inserter.start()
                # The point of the kill is what is random here; most fall between two of the journal's writes.
                time.sleep(chance.uniform(0.05, 0.4))
                server.kill()
                for inserter in inserters:
                    inserter.join()
                    kept += inserter.acknowledged
                server.start()
                with server.client() as client:
                    found = {doc['_id'] for doc in client.crash.docs.find({}, {'_id': 1})}
                    self.assertTrue(client.crash.command('validate', 'docs')['valid'])
                missing = [key for key in kept if key not in found]
                self.assertEqual(missing, [], 'round %d' % (first // CLIENTS))
            print('%d acknowledged, none lost' % len(kept))
            self.assertGreater(len(kept), ROUNDS * CLIENTS)


if __name__ == '__main__':
    unittest.main()

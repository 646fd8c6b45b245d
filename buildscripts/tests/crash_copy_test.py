#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A backup is a copy of the data directory under fsyncLock, however long it takes: the data file does not change."""
import os
import shutil
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

pymongo = harness.import_pymongo()

DOCUMENTS = 20_000
CHECKPOINT_SECONDS = 0.2
LOCKED_SECONDS = 3  # many checkpoints' time


def content(path):
    with open(path, 'rb') as file:
        return file.read()


class CopyTest(unittest.TestCase):
    def test_a_copy_under_the_lock_has_everything(self):
        with tempfile.TemporaryDirectory() as folder:
            data, copy = os.path.join(folder, 'data'), os.path.join(folder, 'copy')
            with harness.Server(directory=data, arguments=['--syncdelay', str(CHECKPOINT_SECONDS)]) as server, server.client() as client:
                self.fill(client)
                client.admin.command('fsync', lock=True)
                first = content(os.path.join(data, 'db', 'data.freshet'))
                until = time.monotonic() + LOCKED_SECONDS
                while time.monotonic() < until:
                    self.assertEqual(content(os.path.join(data, 'db', 'data.freshet')), first, 'the file changed under the lock')
                    time.sleep(0.1)
                shutil.copytree(data, copy)
                client.admin.command('fsyncUnlock')
                client.shop.c.insert_one({'_id': 'later'})
            with harness.Server(directory=copy) as server, server.client() as client:
                self.assertEqual(client.shop.c.count_documents({}), DOCUMENTS // 2)
                self.assertEqual(client.shop.c.count_documents({'n': 49}), DOCUMENTS // 2)
                self.assertTrue(client.shop.validate_collection('c', full=True)['valid'])

    @staticmethod
    def fill(client):
        """Many updates and deletes: their pages are written for many checkpoints to come."""
        shop = client.shop.c
        shop.insert_many([{'_id': i, 'pad': 'x' * 200} for i in range(DOCUMENTS)])
        client.admin.command('fsync')
        for n in range(50):
            shop.update_many({'_id': {'$lt': 2_000}}, {'$set': {'n': n}})
        shop.update_many({}, {'$set': {'n': 49}})
        shop.delete_many({'_id': {'$mod': [2, 0]}})

    def test_unlocking_while_the_lock_is_still_being_taken_is_refused(self):
        with harness.Server() as server, server.client() as client:
            client.shop.c.insert_many([{'_id': i, 'a': list(range(100))} for i in range(20_000)])
            outcomes = []

            def unlock():
                try:
                    client.admin.command('fsyncUnlock')
                    outcomes.append(0)
                except pymongo.errors.OperationFailure as refused:
                    outcomes.append(refused.code)
            writer = threading.Thread(target=lambda: client.shop.c.update_many({}, {'$inc': {'a.$[]': 1}}))
            locker = threading.Thread(target=lambda: client.admin.command('fsync', lock=True))
            writer.start()
            locker.start()
            while locker.is_alive():
                unlock()
            unlock()
            writer.join()
            self.assertEqual(outcomes.count(0), 1, outcomes)
            self.assertEqual(set(outcomes), {0, 20})
            self.assertEqual(client.admin.command('fsync')['numFiles'], 1)
            client.shop.c.insert_one({'_id': 'later'})


if __name__ == '__main__':
    unittest.main()

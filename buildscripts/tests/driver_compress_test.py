#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compressed pages as a user meets them: collections take less room than their documents, and the documents are
the same after a restart, after kill -9 and under another default."""
import os
import random
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

pymongo = harness.import_pymongo()

DOCUMENTS = 1500


def storage(compressor):
    return {'wiredTiger': {'configString': 'block_compressor=' + compressor}}


def document(number, revision=0):
    """Much like one of Debian's packages."""
    return {'_id': number, 'package': 'libthing%d-dev' % number, 'revision': revision, 'section': 'libdevel',
            'maintainer': {'name': 'Debian QA Group', 'email': 'packages@qa.debian.org'},
            'depends': [{'name': 'libc6', 'op': '>=', 'version': '2.%d' % (number % 40)}, {'name': 'libthing%d' % number}],
            'description': 'development files for thing %d\nThis package has the headers that programs need.' % number}


class CompressTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='freshet-compress-')
        self.addCleanup(shutil.rmtree, self.directory)

    def server(self, *arguments):
        return harness.Server(directory=self.directory, arguments=arguments)

    def sizes(self, client, name):
        """size and storageSize, which both ways of asking must tell alike."""
        stats = client.test.command('collStats', name)
        (stage,) = client.test[name].aggregate([{'$collStats': {'storageStats': {}}}])
        for field in ('size', 'storageSize', 'totalIndexSize', 'indexSizes', 'totalSize'):
            self.assertEqual(stats[field], stage['storageStats'][field])
        self.assertEqual(stats['totalSize'], stats['storageSize'] + stats['totalIndexSize'])
        return stats['size'], stats['storageSize']

    def check(self, client, name, wanted):
        self.assertEqual(list(client.test[name].find(sort=[('_id', 1)])), wanted)
        self.assertTrue(client.test.command('validate', name)['valid'])

    def expect_compressed(self, client, large):
        """All but the large value, which lies there as it is. Leaves that have just split take up to a block more."""
        size, stored = self.sizes(client, 'c')
        raw = len(large['large'])
        self.assertGreater(stored, raw)
        self.assertLess(stored - raw, (size - raw) / 3)
        return size

    def test_collections_take_less_room_than_their_documents(self):
        seed = harness.seed()
        with self.server() as server, server.client() as client:
            noise = random.Random(seed)
            for name, compressor in (('usual', None), ('quick', 'snappy'), ('plain', 'none'), ('noise', 'zlib')):
                client.test.create_collection(name, **({'storageEngine': storage(compressor)} if compressor else {}))
                client.test[name].insert_many([document(i) for i in range(DOCUMENTS)] if name != 'noise' else
                                              [{'_id': i, 'b': noise.randbytes(400)} for i in range(DOCUMENTS)])
            client.admin.command('fsync')
            for name, least, most in (('usual', 4, 30), ('quick', 3, 20), ('plain', 0.7, 1), ('noise', 0.7, 1.05)):
                size, stored = self.sizes(client, name)
                self.assertGreater(size / stored, least, name)
                self.assertLess(size / stored, most, name)
            (shown,) = [c for c in client.test.list_collections() if c['name'] == 'quick']
            self.assertEqual(shown['options'], {'storageEngine': storage('snappy')})
            whole = client.test.command('dbStats')
            parts = [self.sizes(client, name) for name in ('usual', 'quick', 'plain', 'noise')]
            self.assertEqual(whole['dataSize'], sum(part[0] for part in parts))
            self.assertEqual(whole['storageSize'], sum(part[1] for part in parts))
            (database,) = [d for d in client.list_databases() if d['name'] == 'test']
            self.assertEqual(database['sizeOnDisk'], whole['totalSize'])
            self.assertLessEqual(database['sizeOnDisk'], os.path.getsize(os.path.join(self.directory, 'db', 'data.freshet')))
            # What is gone gives its room back.
            client.test.plain.delete_many({'_id': {'$gte': 100}})
            client.test.usual.update_many({}, {'$set': {'section': 'oldlibs'}})
            client.admin.command('fsync')
            self.assertGreater(self.sizes(client, 'usual')[0] / self.sizes(client, 'usual')[1], 4)

    def test_documents_are_the_same_after_restart_and_kill(self):
        large = {'_id': DOCUMENTS, 'large': 'x' * 100_000}
        first = [document(i) for i in range(DOCUMENTS)] + [large]
        with self.server() as server, server.client() as client:
            client.test.c.insert_many(first)
            client.test.c.create_index([('package', 1)])
            client.admin.command('fsync')
            self.check(client, 'c', first)
            self.expect_compressed(client, large)
            client.close()
            self.assertEqual(server.stop(), 0)
        second = [document(i, i % 3) for i in range(DOCUMENTS)] + [large]
        with self.server() as server, server.client() as client:
            self.check(client, 'c', first)
            self.expect_compressed(client, large)
            majority = client.test.get_collection('c', write_concern=pymongo.WriteConcern('majority', j=True))
            majority.bulk_write([pymongo.UpdateOne({'_id': i}, {'$set': {'revision': i % 3}}) for i in range(DOCUMENTS)])
            client.close()  # it would look for the server
            server.kill()
        with self.server() as server, server.client() as client:
            # Replay made pages anew; they are compressed like the others.
            self.check(client, 'c', second)
            size = self.expect_compressed(client, large)
            client.close()
            server.kill()
        with self.server('--wiredTigerCollectionBlockCompressor', 'none') as server, server.client() as client:
            self.check(client, 'c', second)
            client.test.c.update_many({}, {'$set': {'revision': 9}})
            client.admin.command('fsync')
            self.assertGreater(self.sizes(client, 'c')[1], size)
            client.close()
            self.assertEqual(server.stop(), 0)
        with self.server('--memoryLimitGB', '0.001') as server, server.client() as client:
            self.check(client, 'c', [dict(d, revision=9) for d in second])  # pages of both kinds come from the disk


if __name__ == '__main__':
    unittest.main()

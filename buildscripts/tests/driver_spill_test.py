#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sorts and groups beyond their memory, and the profile from the start, as a driver sees them."""
import glob
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

pymongo = harness.import_pymongo()

DOCUMENTS = 4000
SORT_LIMIT = 'internalQueryMaxBlockingSortMemoryUsageBytes'
GROUP_LIMIT = 'internalDocumentSourceGroupMaxMemoryBytes'


def key_of(number):
    return number * 7919 % 4001


class SpillTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(harness.Server(arguments=['--setParameter', SORT_LIMIT + '=200000']))
        cls.client = cls.server.client()
        cls.db = cls.client.test
        cls.db.c.insert_many([{'_id': i, 'k': key_of(i), 'g': i % 50, 'pad': 'x' * 200} for i in range(DOCUMENTS)])
        cls.db.c.insert_one({'_id': -1, 'pad': 'x'})
        cls.set(GROUP_LIMIT, 50000)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    @classmethod
    def set(cls, name, value):
        cls.client.admin.command({'setParameter': 1, name: value})

    def set_for_now(self, name, value):
        was = self.client.admin.command({'getParameter': 1, name: 1})[name]
        self.set(name, value)
        self.addCleanup(self.set, name, was)

    def metrics(self):
        return self.client.admin.command('serverStatus')['metrics']['query']

    def open_spill_files(self):
        """Files without a name that the server holds open."""
        links = [os.readlink(path) for path in glob.glob('/proc/%d/fd/*' % self.server.process.pid)
                 if os.path.lexists(path)]
        return [link for link in links if '_tmp' in link]

    def refused(self, work, code, text):
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            work()
        self.assertEqual(caught.exception.code, code, caught.exception)
        self.assertIn(text, str(caught.exception))

    def test_a_find_is_sorted_on_disk(self):
        before = self.metrics()['sort']['spillToDisk']
        found = [document['_id'] for document in self.db.c.find({}, {'_id': 1}).sort('k', 1).batch_size(300)]
        self.assertEqual(found, sorted(range(-1, DOCUMENTS), key=lambda i: -1 if i < 0 else key_of(i)))
        self.assertGreater(self.metrics()['sort']['spillToDisk'], before)
        self.assertEqual(self.open_spill_files(), [])

    def test_explain_tells_of_the_disk(self):
        told = self.db.command('explain', {'find': 'c', 'sort': {'k': 1}}, verbosity='executionStats')
        stage = told['executionStats']['executionStages']
        self.assertEqual(stage['stage'], 'SORT')
        self.assertTrue(stage['usedDisk'])
        self.assertGreater(stage['spills'], 1)
        self.assertEqual(stage['memLimit'], 200000)

    def test_an_aggregate_is_sorted_and_grouped_on_disk(self):
        stages = [{'$addFields': {'n': '$k'}}, {'$sort': {'n': -1}}]
        found = [document['k'] for document in self.db.c.aggregate(stages) if 'k' in document]
        self.assertEqual(found, sorted(map(key_of, range(DOCUMENTS)), reverse=True))
        before = self.metrics()['group']['spillToDisk']
        groups = {document['_id']: document for document in self.db.c.aggregate(
            [{'$group': {'_id': '$g', 'ids': {'$push': '$_id'}, 'avg': {'$avg': '$k'}, 'n': {'$sum': 1}}}])}
        self.assertEqual(len(groups), 51)
        for number in range(50):
            ids = list(range(number, DOCUMENTS, 50))
            self.assertEqual(groups[number]['ids'], ids)
            self.assertEqual(groups[number]['n'], len(ids))
            self.assertAlmostEqual(groups[number]['avg'], sum(map(key_of, ids)) / len(ids))
        self.assertEqual(groups[None]['ids'], [-1])
        self.assertGreater(self.metrics()['group']['spillToDisk'], before)

    def test_without_the_disk_it_is_an_error(self):
        find = self.db.c.find().sort('k', 1)
        stages = [{'$addFields': {'n': '$k'}}, {'$sort': {'n': -1}}]
        group = [{'$group': {'_id': '$k', 'n': {'$push': '$pad'}}}]
        sort_text = 'Sort exceeded memory limit of 200000 bytes, but did not opt in to external sorting.'
        group_text = "Exceeded memory limit for $group, but didn't allow external sort. " \
                     'Pass allowDiskUse:true to opt in.'
        self.refused(lambda: list(find.clone().allow_disk_use(False)), 292, sort_text)
        self.refused(lambda: list(self.db.c.aggregate(stages, allowDiskUse=False)), 292, sort_text)
        self.refused(lambda: list(self.db.c.aggregate(group, allowDiskUse=False)), 292, group_text)
        self.set_for_now('allowDiskUseByDefault', False)
        self.refused(lambda: list(find.clone()), 292, sort_text)
        self.refused(lambda: list(self.db.c.aggregate(group)), 292, group_text)
        self.refused(lambda: self.db.command('aggregate', 'c', pipeline=group, cursor={}, allowDiskUse=None),
                     292, group_text)
        self.assertEqual(len(list(find.clone().allow_disk_use(True))), DOCUMENTS + 1)

    def test_one_group_may_push_only_so_much(self):
        self.set_for_now('internalQueryMaxPushBytes', 300000)
        push = [{'$group': {'_id': None, 'all': {'$push': '$pad'}}}]
        self.refused(lambda: list(self.db.c.aggregate(push)), 146,
                     '$push used too much memory and cannot spill to disk. Memory limit: 300000 bytes')

    def test_files_end_with_their_cursor(self):
        cursor = self.db.c.find().sort('k', 1).batch_size(2)
        next(cursor)
        self.assertNotEqual(self.open_spill_files(), [], 'the rest is on disk')
        self.assertEqual(os.listdir(os.path.join(self.server.directory, 'db', '_tmp')), [])
        cursor.close()
        self.assertEqual(self.open_spill_files(), [])

    def test_the_profile_tells_of_the_disk(self):
        db = self.client.profiled
        db.c.insert_many([{'k': key_of(i), 'pad': 'x' * 200} for i in range(DOCUMENTS)])
        db.command('profile', 2)
        self.addCleanup(db.command, 'profile', 0)
        list(db.c.find().sort('k', 1))
        recorded = db['system.profile'].find_one({'op': 'query', 'command.find': 'c'})
        self.assertTrue(recorded['hasSortStage'] and recorded['usedDisk'], recorded)


class ProfileFromTheStartTest(unittest.TestCase):
    def client_of(self, *arguments):
        client = self.enterContext(harness.Server(arguments=arguments)).client()
        self.addCleanup(client.close)
        return client

    def test_level_2_records_every_database(self):
        client = self.client_of('--profile', '2')
        client.one.c.insert_one({'a': 1})
        client.two.c.insert_one({'a': 1})
        client.one.c.find_one({'a': 1})
        self.assertEqual([document['op'] for document in client.one['system.profile'].find({'ns': 'one.c'})],
                         ['insert', 'query'])
        self.assertEqual(client.two['system.profile'].count_documents({'ns': 'two.c'}), 1)
        client.none.c.find_one({})
        self.assertNotIn('none', client.list_database_names())
        self.assertEqual(client.one.command('profile', -1)['was'], 2)
        client.one.command('profile', 0)
        client.one.c.insert_one({'a': 2})
        self.assertEqual(client.one['system.profile'].count_documents({'ns': 'one.c', 'op': 'insert'}), 1)
        client.drop_database('one')
        self.assertEqual(client.one.command('profile', -1)['was'], 2)

    def test_level_1_records_what_is_slow(self):
        client = self.client_of('--profile', '1', '--slowms', '600000')
        client.one.c.insert_one({'a': 1})
        self.assertEqual(client.one.list_collection_names(), ['c'])
        client.one.command('profile', -1, slowms=0)
        client.one.c.find_one({'a': 1})
        recorded = client.one['system.profile'].find_one({'op': 'query', 'ns': 'one.c'})
        self.assertEqual(recorded['planSummary'], 'COLLSCAN')


if __name__ == '__main__':
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""MongoClient.bulk_write(), which sends the bulkWrite command: several collections, errors, long results, and connections that break."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

pymongo = None


class BulkWriteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        global pymongo
        pymongo = harness.import_pymongo()
        cls.server = harness.Server(arguments=['--replSet', 'rs0', '--setParameter', 'enableTestCommands=1']).start()
        cls.addClassCleanup(cls.server.__exit__)

    def setUp(self):
        self.commands = []
        seen = self.commands

        class Listener(pymongo.monitoring.CommandListener):
            def started(self, event):
                seen.append(event.command_name)

            def succeeded(self, event):
                pass

            failed = succeeded

        self.client = pymongo.MongoClient('mongodb://127.0.0.1:%d/?replicaSet=rs0' % self.server.port, event_listeners=[Listener()])
        self.addCleanup(self.client.close)
        for name in ('first', 'second'):
            self.client.drop_database(name)
        self.commands.clear()

    def inserts(self, ids, namespace='first.c'):
        return [pymongo.InsertOne({'_id': i}, namespace=namespace) for i in ids]

    def test_several_collections_with_all_results(self):
        result = self.client.bulk_write(self.inserts([1, 2]) + [
            pymongo.UpdateOne({'_id': 1}, {'$set': {'a': 1}}, namespace='first.c'),
            pymongo.UpdateOne({}, {'$set': {'last': True}}, sort={'_id': -1}, namespace='first.c'),
            pymongo.ReplaceOne({'_id': 7}, {'b': 1}, upsert=True, namespace='second.d'),
            pymongo.DeleteMany({}, namespace='second.d'),
        ], verbose_results=True)
        self.assertEqual(self.commands, ['bulkWrite'])
        self.assertEqual((result.inserted_count, result.matched_count, result.modified_count, result.upserted_count,
                          result.deleted_count), (2, 2, 2, 1, 1))
        self.assertEqual(result.update_results[4].upserted_id, 7)
        self.assertEqual(result.delete_results[5].deleted_count, 1)
        self.assertEqual(list(self.client.first.c.find()), [{'_id': 1, 'a': 1}, {'_id': 2, 'last': True}])

    def test_errors_stop_an_ordered_one_only(self):
        ids = [1, 1, 2, 2, 3]
        for ordered, inserted, failed in ((True, 1, [1]), (False, 3, [1, 3])):
            self.client.first.c.delete_many({})
            with self.assertRaises(pymongo.errors.ClientBulkWriteException) as caught:
                self.client.bulk_write(self.inserts(ids), ordered=ordered)
            self.assertEqual([error['idx'] for error in caught.exception.write_errors], failed)
            self.assertEqual({error['code'] for error in caught.exception.write_errors}, {11000})
            self.assertEqual(caught.exception.partial_result.inserted_count, inserted)
            self.assertEqual(self.client.first.c.count_documents({}), inserted)

    def test_results_that_need_a_second_batch(self):
        count, size = 400, 60000  # of the _ids: together more than one reply takes
        result = self.client.bulk_write([pymongo.UpdateOne({'_id': str(i) + 'x' * size}, {'$set': {'x': 1}}, upsert=True, namespace='first.c')
                                         for i in range(count)], verbose_results=True)
        self.assertEqual(result.upserted_count, count)
        self.assertEqual([result.update_results[i].upserted_id.rstrip('x') for i in range(count)], [str(i) for i in range(count)])
        self.assertIn('getMore', self.commands)

    def test_more_operations_than_one_command_takes(self):
        count = self.client.admin.command('hello')['maxWriteBatchSize'] + 1
        self.commands.clear()
        self.assertEqual(self.client.bulk_write(self.inserts(range(count))).inserted_count, count)
        self.assertEqual(self.commands, ['bulkWrite', 'bulkWrite'])
        self.assertEqual(self.client.first.c.count_documents({}), count)

    def test_nothing_is_done_twice_when_the_connection_breaks(self):
        models = self.inserts([1]) + [pymongo.UpdateOne({'_id': 1}, {'$inc': {'n': 1}}, namespace='first.c'),
                                      pymongo.UpdateOne({'_id': 9}, {'$inc': {'n': 1}}, upsert=True, namespace='second.d')]
        # Before the command has begun, and when it has written but not replied.
        for point, more in (('failCommand', {'failCommands': ['bulkWrite']}), ('onPrimaryTransactionalWrite', {})):
            self.client.admin.command({'configureFailPoint': point, 'mode': {'times': 1}, 'data': {'closeConnection': True, **more}})
            for name in ('first', 'second'):
                self.client.drop_database(name)
            self.commands.clear()
            result = self.client.bulk_write(models)
            self.assertEqual(self.commands.count('bulkWrite'), 2)
            self.assertEqual((result.inserted_count, result.matched_count, result.upserted_count), (1, 1, 1))
            self.assertEqual(self.client.first.c.find_one(), {'_id': 1, 'n': 1})
            self.assertEqual(self.client.second.d.find_one(), {'_id': 9, 'n': 1})

    def test_an_unacknowledged_one(self):
        client = pymongo.MongoClient('mongodb://127.0.0.1:%d/?replicaSet=rs0&w=0' % self.server.port)
        self.addCleanup(client.close)
        result = client.bulk_write(self.inserts(range(10)), ordered=False)
        self.assertFalse(result.acknowledged)
        client.admin.command('ping')  # on the same connection, so afterwards
        self.assertEqual(self.client.first.c.count_documents({}), 10)


if __name__ == '__main__':
    unittest.main()

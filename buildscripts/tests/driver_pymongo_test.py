# SPDX-License-Identifier: Apache-2.0
"""What an application does with pymongo, and what it must be told when it does wrong."""
import datetime
import os
import re
import sys
import threading
import unittest
import uuid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

pymongo = None
bson = None


class PymongoTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        global pymongo, bson
        pymongo = harness.import_pymongo()
        import bson
        import bson.decimal128
        cls.server = harness.Server().start()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = cls.server.client()
        cls.addClassCleanup(cls.client.close)

    def setUp(self):
        self.db = self.client['db_' + self._testMethodName[:40]]
        self.c = self.db.c

    def refused(self, code, words, call):
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            call()
        error = caught.exception
        details = (error.details.get('writeErrors') or [error.details])[0]
        self.assertEqual(details['code'], code, details)
        self.assertIn(words, details['errmsg'])

    def test_every_type_comes_back_as_it_was(self):
        doc = {'_id': bson.ObjectId(), 'double': 1.5, 'string': 'zażółć\0x', 'object': {'a': {'b': []}}, 'array': [1, 'a', None, [2]],
               'binary': b'\x00\xff', 'uuid': bson.Binary.from_uuid(uuid.uuid4()), 'true': True, 'null': None,
               'date': datetime.datetime(2026, 11, 20, 12, 0, 0, 123000), 'regex': bson.Regex('^a', 'i'), 'int32': 7,
               'int64': bson.Int64(1 << 40), 'decimal': bson.decimal128.Decimal128('1.10'), 'min': bson.MinKey(), 'max': bson.MaxKey(),
               'timestamp': bson.Timestamp(5, 6), 'code': bson.Code('f()'), 'scope': bson.Code('f()', {'x': 1})}
        self.c.insert_one(doc)
        self.assertEqual(self.c.find_one(), doc)
        self.assertEqual(self.c.find_one({key: doc[key] for key in ('double', 'string', 'object', 'array', 'decimal', 'date')}), doc)

    def test_null_matches_missing_and_numbers_match_across_types(self):
        self.c.insert_many([{'_id': 1, 'a': None}, {'_id': 2}, {'_id': 3, 'a': 5}, {'_id': 4, 'a': 5.0}, {'_id': 5, 'a': [5, 6]}])
        for _ in range(2):
            self.assertEqual({d['_id'] for d in self.c.find({'a': None})}, {1, 2})
            self.assertEqual({d['_id'] for d in self.c.find({'a': bson.Int64(5)})}, {3, 4, 5})
            self.assertEqual({d['_id'] for d in self.c.find({'a': {'$gt': 5}})}, {5})
            self.assertEqual({d['_id'] for d in self.c.find({'a': {'$ne': 5}})}, {1, 2})
            self.c.create_index('a')

    def test_sort_follows_the_order_of_types(self):
        values = [bson.MinKey(), None, -5, 3.5, bson.Int64(4), 'a', 'b', {'x': 1}, b'b', bson.ObjectId(), False, True,
                  datetime.datetime(2020, 1, 1), bson.Timestamp(1, 1), bson.Regex('a'), bson.MaxKey()]
        self.c.insert_many([{'_id': i, 'v': v} for i, v in reversed(list(enumerate(values)))])
        for _ in range(2):
            self.assertEqual([d['_id'] for d in self.c.find().sort('v', 1)], list(range(len(values))))
            self.assertEqual([d['_id'] for d in self.c.find().sort('v', -1)], list(reversed(range(len(values)))))
            self.c.create_index('v')

    def test_upsert_builds_from_filter_and_update(self):
        result = self.c.update_one({'name': 'x', 'n': {'$gt': 3}}, {'$set': {'a.b': 1}, '$inc': {'k': 2}}, upsert=True)
        self.assertEqual(self.c.find_one({'_id': result.upserted_id}), {'_id': result.upserted_id, 'name': 'x', 'a': {'b': 1}, 'k': 2})
        self.assertEqual(self.c.update_one({'name': 'x'}, {'$inc': {'k': 1}}, upsert=True).upserted_id, None)
        self.assertEqual(self.c.replace_one({'_id': 9}, {'r': 1}, upsert=True).upserted_id, 9)

    def test_bulk_write_ordered_and_not(self):
        self.c.insert_one({'_id': 1})
        requests = [pymongo.InsertOne({'_id': 2}), pymongo.InsertOne({'_id': 1}), pymongo.InsertOne({'_id': 3})]
        with self.assertRaises(pymongo.errors.BulkWriteError) as caught:
            self.c.bulk_write(requests)
        self.assertEqual((caught.exception.details['nInserted'], caught.exception.details['writeErrors'][0]['index']), (1, 1))
        requests[0] = pymongo.InsertOne({'_id': 4})
        with self.assertRaises(pymongo.errors.BulkWriteError) as caught:
            self.c.bulk_write(requests, ordered=False)
        self.assertEqual(caught.exception.details['nInserted'], 2)
        mixed = self.c.bulk_write([pymongo.UpdateMany({}, {'$set': {'x': 1}}), pymongo.DeleteOne({'_id': 1}),
                                   pymongo.ReplaceOne({'_id': 2}, {'y': 1}), pymongo.UpdateOne({'_id': 99}, {'$set': {'z': 1}}, upsert=True)])
        self.assertEqual((mixed.modified_count, mixed.deleted_count, mixed.upserted_ids), (5, 1, {3: 99}))

    def test_errors_have_mongods_codes_and_texts(self):
        self.c.insert_one({'_id': 1, 'a': 'x', 'arr': [1]})
        self.refused(11000, 'E11000 duplicate key error collection: %s.c index: _id_ dup key: { _id: 1 }' % self.db.name, lambda: self.c.insert_one({'_id': 1}))
        self.refused(2, 'unknown operator: $foo', lambda: self.c.find_one({'a': {'$foo': 1}}))
        self.refused(9, 'Unknown modifier: $foo', lambda: self.c.update_one({}, {'$foo': {'a': 1}}))
        self.refused(14, 'Cannot apply $inc to a value of non-numeric type', lambda: self.c.update_one({}, {'$inc': {'a': 1}}))
        self.refused(28, 'Cannot create field', lambda: self.c.update_one({}, {'$set': {'a.b': 1}}))
        self.refused(40, 'would create a conflict', lambda: self.c.update_one({}, {'$set': {'q': 1, 'q.r': 2}}))
        self.refused(66, '_id', lambda: self.c.update_one({}, {'$set': {'_id': 5}}))
        self.refused(59, "no such command: 'nosuch'", lambda: self.db.command('nosuch'))
        self.refused(40324, "Unrecognized pipeline stage name: '$nosuch'", lambda: list(self.c.aggregate([{'$nosuch': 1}])))
        self.refused(43, 'cursor id 12345 not found', lambda: self.db.command('getMore', bson.Int64(12345), collection='c'))
        self.refused(73, '', lambda: self.db.command('insert', '', documents=[{}]))
        self.refused(27, 'index not found with name', lambda: self.c.drop_index('nosuch'))
        self.refused(40415, 'is an unknown field', lambda: self.db.command('find', 'c', nosuch=1))

    def test_collections_and_indexes(self):
        self.db.create_collection('made')
        self.assertEqual(self.db.command('create', 'made')['ok'], 1)
        self.db.create_collection('checked', validator={'$jsonSchema': {'required': ['a'], 'properties': {'a': {'bsonType': 'int'}}}})
        self.refused(121, 'Document failed validation', lambda: self.db.checked.insert_one({'a': 'x'}))
        self.db.checked.insert_one({'a': 1})
        with self.assertRaises(pymongo.errors.WriteError) as caught:
            self.db.checked.update_one({}, {'$unset': {'a': 1}})
        self.assertEqual(caught.exception.details['errInfo']['details']['schemaRulesNotSatisfied'][0]['missingProperties'], ['a'])
        self.db.drop_collection('checked')
        self.c.insert_one({'a': 1, 'b': [1, 2]})
        self.assertEqual(self.c.create_index([('a', 1), ('b', -1)]), 'a_1_b_-1')
        self.c.create_index('u', unique=True, name='mine')
        info = self.c.index_information()
        self.assertEqual(set(info), {'_id_', 'a_1_b_-1', 'mine'})
        self.assertTrue(info['mine']['unique'])
        self.refused(86, '', lambda: self.c.create_index('other', name='mine'))
        self.c.drop_index('mine')
        self.c.drop_indexes()
        self.assertEqual(list(self.c.index_information()), ['_id_'])
        self.assertEqual(sorted(self.db.list_collection_names()), ['c', 'made'])
        self.assertIn(self.db.name, self.client.list_database_names())
        self.c.drop()
        self.assertEqual(self.db.list_collection_names(), ['made'])
        self.client.drop_database(self.db.name)
        self.assertNotIn(self.db.name, self.client.list_database_names())

    def test_a_unique_build_over_twins_fails_and_leaves_nothing(self):
        self.c.insert_many([{'a': 1}, {'a': 1}])
        self.refused(11000, 'dup key: { a: 1 }', lambda: self.c.create_index('a', unique=True))
        self.assertEqual(list(self.c.index_information()), ['_id_'])

    def test_cursors(self):
        self.c.insert_many([{'_id': i} for i in range(1000)])
        cursor = self.c.find(batch_size=10).sort('_id', 1)
        self.assertEqual([next(cursor)['_id'] for _ in range(25)], list(range(25)))
        self.c.delete_many({'_id': {'$gte': 500}})
        self.assertEqual([d['_id'] for d in cursor][-1], 499)
        cursor = self.c.find(batch_size=2)
        next(cursor)
        number = cursor.cursor_id
        cursor.close()
        self.refused(43, 'not found', lambda: self.db.command('getMore', bson.Int64(number), collection='c'))
        cursor = self.c.find(batch_size=2)
        next(cursor)
        next(cursor)
        self.c.drop()
        self.refused(175, '', lambda: list(cursor))

    def test_big_documents_and_big_batches(self):
        big = {'_id': 1, 'x': 'y' * (16 * 1024 * 1024 - 100)}
        self.c.insert_one(big)
        self.assertEqual(self.c.find_one({'_id': 1}), big)
        with self.assertRaises((pymongo.errors.DocumentTooLarge, pymongo.errors.WriteError, pymongo.errors.OperationFailure)):
            self.c.insert_one({'x': 'y' * (16 * 1024 * 1024)})
        self.c.insert_many([{'x': 'y' * 1_000_000} for _ in range(60)])
        self.assertEqual(sum(len(d['x']) for d in self.c.find({'_id': {'$ne': 1}})), 60_000_000)

    def test_unacknowledged_writes_arrive(self):
        loose = self.c.with_options(write_concern=pymongo.WriteConcern(w=0))
        for i in range(100):
            loose.insert_one({'_id': i})
        while self.c.count_documents({}) < 100:
            pass
        self.assertEqual(self.c.count_documents({}), 100)

    def test_write_concerns(self):
        for options in ({'w': 1}, {'w': 1, 'j': True}, {'w': 'majority'}, {'j': True}, {'w': 1, 'j': False}):
            self.c.with_options(write_concern=pymongo.WriteConcern(**options)).insert_one(dict(o=str(options)))
        self.assertEqual(self.c.count_documents({}), 5)
        self.refused(2, "cannot use 'w' > 1 when a host is not replicated", lambda: self.db.command('insert', 'c', documents=[{}], writeConcern={'w': 2}))

    def test_racing_increments_all_count(self):
        self.c.insert_one({'_id': 1, 'n': 0})

        def work():
            with self.server.client() as client:
                for _ in range(100):
                    client[self.db.name].c.update_one({'_id': 1}, {'$inc': {'n': 1}})
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.c.find_one()['n'], 800)

    def test_racing_inserts_of_one_key_have_one_winner(self):
        self.c.create_index('k', unique=True)
        won = []

        def work(me):
            with self.server.client() as client:
                for key in range(50):
                    try:
                        client[self.db.name].c.insert_one({'k': key, 'by': me})
                        won.append(key)
                    except pymongo.errors.DuplicateKeyError:
                        pass
        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(won), list(range(50)))
        self.assertEqual(self.c.count_documents({}), 50)

    def test_what_tools_ask(self):
        admin = self.client.admin
        self.assertEqual(admin.command('buildInfo')['versionArray'][:2], [8, 0])
        self.assertGreater(admin.command('serverStatus')['uptimeMillis'], 0)
        self.assertIn('argv', admin.command('getCmdLineOpts'))
        self.assertIn('log', admin.command('getLog', 'global'))
        self.assertIn('authInfo', admin.command('connectionStatus'))
        self.assertIn('enableTestCommands', admin.command('getParameter', '*'))
        self.assertTrue(self.client.admin.command('hello')['isWritablePrimary'])
        self.assertTrue(re.match('8.0', self.client.server_info()['version']))

    def test_find_one_and(self):
        self.c.insert_many([{'_id': i, 'n': i} for i in range(5)])
        after = pymongo.ReturnDocument.AFTER
        self.assertEqual(self.c.find_one_and_update({'n': 3}, {'$inc': {'n': 10}}), {'_id': 3, 'n': 3})
        self.assertEqual(self.c.find_one_and_update({}, {'$set': {'x': 1}}, sort=[('_id', -1)], return_document=after, projection={'_id': 0, 'x': 1}), {'x': 1})
        self.assertEqual(self.c.find_one_and_replace({'_id': 9}, {'y': 1}, upsert=True, return_document=after), {'_id': 9, 'y': 1})
        self.assertEqual(self.c.find_one_and_update({'_id': 1}, [{'$set': {'d': {'$multiply': ['$n', 2]}}}], return_document=after), {'_id': 1, 'n': 1, 'd': 2})
        self.assertEqual(self.c.find_one_and_delete({'_id': 9}), {'_id': 9, 'y': 1})
        self.assertIsNone(self.c.find_one_and_delete({'_id': 9}))
        self.c.insert_one({'_id': 20, 'a': [{'k': 1}, {'k': 2}]})
        self.assertEqual(self.c.find_one_and_update({'_id': 20}, {'$set': {'a.$[e].v': 1}}, array_filters=[{'e.k': 2}], return_document=after)['a'], [{'k': 1}, {'k': 2, 'v': 1}])
        self.c.create_index('n', unique=True, sparse=True)
        self.refused(11000, 'dup key: { n: 2 }', lambda: self.c.find_one_and_update({'_id': 1}, {'$set': {'n': 2}}))

    def test_racing_claims_are_each_ones_own(self):
        self.c.insert_many([{'_id': i} for i in range(100)])
        claimed = []

        def work():
            with self.server.client() as client:
                while True:
                    job = client[self.db.name].c.find_one_and_update({'taken': None}, {'$set': {'taken': True}})
                    if job is None:
                        return
                    claimed.append(job['_id'])
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(claimed), list(range(100)))

    def test_distinct(self):
        self.c.insert_many([{'a': 1, 'b': 'x'}, {'a': [1, 2], 'b': 'y'}, {'a': 2.0}, {'a': None}])
        for _ in range(2):
            self.assertEqual(sorted(self.c.distinct('a'), key=str), [1, 2, None])
            self.assertEqual(self.c.distinct('b', {'a': 2}), ['y'])
            self.c.create_index('a')

    def test_kinds_of_indexes(self):
        self.c.create_index('p', partialFilterExpression={'p': {'$gt': 5}}, unique=True)
        self.c.create_index('s', sparse=True, unique=True)
        self.c.create_index('t', expireAfterSeconds=3600)
        self.c.create_index('h', hidden=True)
        self.c.insert_many([{'p': 1}, {'p': 1}, {'p': 6, 's': 1}])
        self.refused(11000, 'dup key: { p: 6 }', lambda: self.c.insert_one({'p': 6}))
        self.refused(11000, 'dup key: { s: 1 }', lambda: self.c.insert_one({'s': 1}))
        self.assertEqual(self.c.count_documents({'p': 1}), 2)
        info = self.c.index_information()
        self.assertEqual(info['t_1']['expireAfterSeconds'], 3600)
        self.assertEqual(info['p_1']['partialFilterExpression'], {'p': {'$gt': 5}})
        stages = [self.c.find(q).explain()['queryPlanner']['winningPlan']['stage'] for q in ({'p': 1}, {'p': 7}, {'h': 1}, {'_id': 1})]
        self.assertEqual(stages, ['COLLSCAN', 'FETCH', 'COLLSCAN', 'IDHACK'])
        self.assertEqual(len(list(self.c.find({'p': {'$gt': 5}}, hint='p_1'))), 1)
        self.refused(2, 'hint provided does not correspond to an existing index', lambda: list(self.c.find({}, hint='nosuch')))
        self.refused(85, '', lambda: self.c.create_index('t', expireAfterSeconds=1))
        self.refused(67, '', lambda: self.c.create_index([('g', '2dsphere')]))
        self.refused(67, '', lambda: self.c.create_index('z', partialFilterExpression={'z': {'$ne': 1}}))

    def test_index_plans_find_what_scans_find(self):
        self.c.insert_many([{'_id': i, 'a': i % 7, 'b': [i % 3, i % 5], 's': 'k%d' % (i % 10)} for i in range(300)])
        filters = [{'a': 3}, {'a': {'$gt': 2, '$lte': 5}}, {'b': 2}, {'b': {'$elemMatch': {'$gt': 2, '$lt': 4}}}, {'a': {'$in': [1, 5, None]}},
                   {'s': {'$regex': '^k1'}}, {'$or': [{'a': 1}, {'b': 4}]}, {'a': 1, 'b': 1}, {'a': {'$type': 'int'}}, {'b': {'$size': 2}, 'a': {'$mod': [3, 0]}}]
        wanted = [sorted(d['_id'] for d in self.c.find(f, hint=[('$natural', 1)])) for f in filters]
        for key in ('a', 'b', 's', [('a', 1), ('b', -1)]):
            self.c.create_index(key)
            self.assertEqual([sorted(d['_id'] for d in self.c.find(f)) for f in filters], wanted)
            self.assertEqual([self.c.count_documents(f) for f in filters], [len(w) for w in wanted])
        self.assertEqual([d['_id'] for d in self.c.find({'a': 3}).sort('_id', -1).skip(2).limit(3)], [i for i in reversed(range(300)) if i % 7 == 3][2:5])
        self.assertEqual([d['a'] for d in self.c.find().min([('a', 5)]).max([('a', 6)]).hint('a_1')], [5] * 43)

    def test_explain_runs_and_writes_nothing(self):
        self.c.insert_many([{'a': i} for i in range(10)])
        self.c.create_index('a')
        stats = self.c.find({'a': {'$gte': 5}}).explain()['executionStats']
        self.assertEqual((stats['nReturned'], stats['totalKeysExamined'], stats['totalDocsExamined']), (5, 5, 5))
        plan = self.db.command('explain', {'delete': 'c', 'deletes': [{'q': {}, 'limit': 0}]}, verbosity='executionStats')
        self.assertEqual(plan['executionStats']['executionStages']['nWouldDelete'], 10)
        plan = self.db.command('explain', {'count': 'c', 'query': {'a': 3}}, verbosity='executionStats')
        self.assertEqual((plan['executionStats']['totalKeysExamined'], plan['executionStats']['totalDocsExamined']), (1, 0))
        self.assertEqual(self.c.count_documents({}), 10)

    def test_let_and_expressions_in_filters(self):
        self.c.insert_many([{'_id': 1, 'a': 1, 'b': 2}, {'_id': 2, 'a': 3, 'b': 2}])
        self.assertEqual([d['_id'] for d in self.c.find({'$expr': {'$gt': ['$a', '$$x']}}, let={'x': 2})], [2])
        self.assertEqual(self.c.update_many({'$expr': {'$eq': ['$a', '$$x']}}, {'$set': {'c': 1}}, let={'x': 1}).modified_count, 1)
        self.assertEqual(self.c.delete_one({'$expr': {'$eq': ['$a', '$$x']}}, let={'x': 3}).deleted_count, 1)

    def test_names_with_dots_and_dollars(self):
        self.c.insert_one({'_id': 1, '$a': 1, 'b.c': 2, 'd': {'$e': 3}})
        self.assertEqual(self.c.find_one(), {'_id': 1, '$a': 1, 'b.c': 2, 'd': {'$e': 3}})
        self.c.replace_one({'_id': 1}, {'x': {'$y': 1, 'p.q': 2}})
        self.assertEqual(self.c.find_one(), {'_id': 1, 'x': {'$y': 1, 'p.q': 2}})
        self.refused(52, "_id fields may not contain '$'-prefixed fields", lambda: self.c.insert_one({'_id': {'$a': 1}}))
        self.refused(53, "The '_id' value cannot be of type array", lambda: self.c.insert_one({'_id': [1]}))

    def test_empty_timestamps_get_the_time(self):
        self.c.insert_one({'_id': 1, 't': bson.Timestamp(0, 0), 's': {'t': bson.Timestamp(0, 0)}})
        found = self.c.find_one()
        self.assertGreater(found['t'].time, 1_600_000_000)
        self.assertEqual(found['s']['t'], bson.Timestamp(0, 0))


if __name__ == '__main__':
    unittest.main()

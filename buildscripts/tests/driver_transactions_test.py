# SPDX-License-Identifier: Apache-2.0
"""Multi-document transactions as an application meets them, on a standalone and on a replica set of one: what they may do, what
others see meanwhile, and how each refusal is spelled."""
import os
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import transaction_load as load  # noqa: E402

pymongo = bson = None
SECONDS_MAX = 60  # that nothing takes
TRANSIENT = ['TransientTransactionError']
BIG = 8_000_000  # bytes of a document's padding
ARGUMENTS = ['--setParameter', 'enableTestCommands=1']


class Case(unittest.TestCase):
    arguments = ARGUMENTS

    @classmethod
    def setUpClass(cls):
        global pymongo, bson
        pymongo = harness.import_pymongo()
        import bson as module
        bson = module
        cls.server = harness.Server(arguments=cls.arguments).start()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = pymongo.MongoClient(cls.server.uri)
        cls.addClassCleanup(cls.client.close)

    def setUp(self):
        self.client.drop_database('t')
        self.db, self.c = self.client.t, self.client.t.c

    def session(self, **options):
        """A session with a transaction begun."""
        session = self.client.start_session()
        self.addCleanup(session.end_session)
        session.start_transaction(**options)
        return session

    def fails(self, code, name, labels, function, *args, **options):
        """What the server's answer says, labels included."""
        with self.assertRaises(pymongo.errors.PyMongoError) as caught:
            function(*args, **options)
        details = caught.exception.details
        self.assertEqual((details.get('code'), details.get('codeName'), details.get('errorLabels', [])), (code, name, labels), details)
        return details

    def fails_in_a_write(self, code, function, *args, **options):
        """An error of one statement, that other statements' errors would stand beside."""
        with self.assertRaises((pymongo.errors.WriteError, pymongo.errors.BulkWriteError)) as caught:
            function(*args, **options)
        details = caught.exception.details
        error = details['writeErrors'][0] if 'writeErrors' in details else details
        self.assertEqual((error['code'], caught.exception.has_error_label('TransientTransactionError')), (code, False))
        return error

    def is_gone(self, session):
        """The transaction was aborted by the server."""
        self.fails(251, 'NoSuchTransaction', TRANSIENT, session.commit_transaction)

    def fail_point(self, mode, **data):
        self.client.admin.command({'configureFailPoint': 'failCommand', 'mode': mode, 'data': data})
        self.addCleanup(self.client.admin.command, {'configureFailPoint': 'failCommand', 'mode': 'off'})


class Tests:
    """Those of both kinds of server."""

    # Commit and abort.

    def test_a_commit_shows_everything_at_once(self):
        self.c.insert_many([{'_id': 1, 'n': 1}, {'_id': 2}])
        s = self.session()
        self.c.insert_one({'_id': 3}, session=s)
        self.c.update_one({'_id': 1}, {'$inc': {'n': 1}}, session=s)
        self.c.delete_one({'_id': 2}, session=s)
        self.client.u.c.insert_one({'_id': 9}, session=s)
        self.addCleanup(self.client.drop_database, 'u')
        self.assertEqual(list(self.c.find(session=s)), [{'_id': 1, 'n': 2}, {'_id': 3}])
        self.assertEqual(list(self.c.find()), [{'_id': 1, 'n': 1}, {'_id': 2}])
        self.assertIsNone(self.client.u.c.find_one())
        s.commit_transaction()
        self.assertEqual(list(self.c.find()), [{'_id': 1, 'n': 2}, {'_id': 3}])
        self.assertEqual(self.client.u.c.find_one(), {'_id': 9})
        s.commit_transaction()  # a commit may be asked for again

    def test_a_commit_may_be_repeated_with_other_concerns(self):
        s = load.Session(self.server.port)
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{'_id': 1}]})
        for concern in ({}, {'w': 1}, {'w': 'majority'}, {'w': 'majority', 'wtimeout': 1000}, {'w': 1, 'j': True}):
            self.assertEqual(s.ask('admin', {'commitTransaction': 1, 'writeConcern': concern, **s.fields()})['ok'], 1)
        self.assertEqual(self.c.count_documents({}), 1)

    def test_an_abort_leaves_nothing(self):
        self.c.insert_one({'_id': 1})
        s = self.session()
        self.c.insert_one({'_id': 2}, session=s)
        self.c.delete_one({'_id': 1}, session=s)
        self.db.other.insert_one({}, session=s)
        s.abort_transaction()
        self.assertEqual(list(self.c.find()), [{'_id': 1}])
        self.assertEqual(self.db.list_collection_names(), ['c'])

    def test_an_empty_transaction(self):
        s = load.Session(self.server.port)
        s.begin()
        for ends in (s.commit, s.abort):
            with self.assertRaises(load.Failed) as caught:
                ends()
            self.assertEqual((caught.exception.code, caught.exception.labels), (251, TRANSIENT))
        with self.client.start_session() as s, s.start_transaction():
            pass
        s = self.session()
        self.c.find_one(session=s)
        s.commit_transaction()
        s.commit_transaction()

    def test_with_transaction(self):
        self.c.insert_one({'_id': 1, 'n': 0})
        other = self.session()
        self.c.update_one({'_id': 1}, {'$inc': {'n': 10}}, session=other)
        calls = []

        def add(session):
            calls.append(1)
            if len(calls) == 3:
                other.commit_transaction()
            self.c.update_one({'_id': 1}, {'$inc': {'n': 1}}, session=session)
            return 'done'
        with self.client.start_session() as s:
            self.assertEqual(s.with_transaction(add), 'done')
        self.assertGreaterEqual(len(calls), 3)
        self.assertEqual(self.c.find_one(), {'_id': 1, 'n': 11})

    def test_with_transaction_raises_the_callers_error(self):
        def fail(session):
            self.c.insert_one({}, session=session)
            raise KeyError('mine')
        with self.client.start_session() as s, self.assertRaises(KeyError):
            s.with_transaction(fail)
        self.assertEqual(self.c.count_documents({}), 0)

    def test_a_lost_reply_to_a_commit(self):
        """The driver of a replica set asks again once, that of a standalone leaves it to the application."""
        lost = 2 if 'setName' in self.client.admin.command('hello') else 1
        self.fail_point({'times': lost}, failCommands=['commitTransaction'], closeConnection=True)
        s = self.session()
        self.c.insert_one({'_id': 1}, session=s)
        with self.assertRaises(pymongo.errors.AutoReconnect) as caught:
            s.commit_transaction()
        self.assertTrue(caught.exception.has_error_label('UnknownTransactionCommitResult'))
        s.commit_transaction()
        s.commit_transaction()
        self.assertEqual(self.c.count_documents({}), 1)
        with self.client.start_session() as s:
            self.fail_point({'times': lost}, failCommands=['commitTransaction'], closeConnection=True)
            s.with_transaction(lambda session: self.c.insert_one({'_id': 2}, session=session))
        self.assertEqual(self.c.count_documents({}), 2)

    def test_a_lost_reply_to_a_statement(self):
        s = self.session()
        self.c.insert_one({'_id': 1}, session=s)
        self.fail_point({'times': 1}, failCommands=['insert'], closeConnection=True)
        with self.assertRaises(pymongo.errors.AutoReconnect) as caught:
            self.c.insert_one({'_id': 2}, session=s)
        self.assertTrue(caught.exception.has_error_label('TransientTransactionError'))
        s.abort_transaction()
        self.assertEqual(self.c.count_documents({}), 0)

    # What others see, and conflicts.

    def test_reads_repeat(self):
        self.c.insert_many([{'_id': i} for i in range(3)])
        s = self.session()
        self.c.find_one(session=s)
        self.c.insert_one({'_id': 3})
        self.c.delete_one({'_id': 0})
        self.db.later.insert_one({})
        self.assertEqual([one['_id'] for one in self.c.find(session=s)], [0, 1, 2])
        self.assertEqual(self.c.count_documents({}, session=s), 3)
        self.assertEqual(self.c.distinct('_id', session=s), [0, 1, 2])
        s.commit_transaction()
        self.assertEqual(self.c.distinct('_id'), [1, 2, 3])

    def test_operations_of_the_session_outside_its_transaction(self):
        self.db.create_collection('c')
        s = load.Session(self.server.port)
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{'_id': 1}]})
        s.wire.ask('t', {'insert': 'c', 'documents': [{'_id': 2}], 'lsid': s.id})
        self.assertEqual(s.wire.ask('t', {'find': 'c', 'lsid': s.id})['cursor']['firstBatch'], [{'_id': 2}])
        self.assertEqual(s.read(('t', 'c')), [{'_id': 1}])
        s.commit()
        self.assertEqual(self.c.distinct('_id'), [1, 2])

    def test_a_conflict_with_an_open_transaction(self):
        self.c.insert_one({'_id': 1})
        a, b = self.session(), self.session()
        self.c.update_one({'_id': 1}, {'$set': {'by': 'a'}}, session=a)
        for write in ((self.c.update_one, {'_id': 1}, {'$set': {'by': 'b'}}), (self.c.delete_one, {'_id': 1}),
                      (self.c.find_one_and_update, {'_id': 1}, {'$set': {'by': 'b'}}), (self.c.update_many, {}, {'$set': {'by': 'b'}}),
                      (self.c.bulk_write, [pymongo.ReplaceOne({'_id': 1}, {'by': 'b'})])):
            self.db.other.insert_one({}, session=b)
            self.fails(112, 'WriteConflict', TRANSIENT, *write, session=b)
            self.is_gone(b)
            b.start_transaction()
        a.commit_transaction()
        self.assertEqual((self.c.find_one(), self.db.other.count_documents({})), ({'_id': 1, 'by': 'a'}, 0))

    def test_a_conflict_with_a_later_commit(self):
        self.c.insert_one({'_id': 1})
        s = self.session()
        self.c.find_one(session=s)
        self.c.update_one({'_id': 1}, {'$set': {'by': 'other'}})
        self.fails(112, 'WriteConflict', TRANSIENT, self.c.update_one, {'_id': 1}, {'$set': {'by': 's'}}, session=s)

    def test_two_inserts_of_one_id(self):
        self.c.insert_one({'_id': 0})
        a, b = self.session(), self.session()
        self.c.insert_one({'_id': 1}, session=a)
        self.fails(112, 'WriteConflict', TRANSIENT, self.c.insert_one, {'_id': 1}, session=b)
        a.commit_transaction()

    def test_two_inserts_of_one_unique_key(self):
        self.c.create_index('k', unique=True)
        a, b = self.session(), self.session()
        self.c.insert_one({'k': 1}, session=a)
        self.fails(112, 'WriteConflict', TRANSIENT, self.c.insert_one, {'k': 1}, session=b)
        a.commit_transaction()
        self.assertEqual(self.c.count_documents({}), 1)

    def test_a_write_outside_waits_for_the_transaction(self):
        self.c.insert_one({'_id': 1, 'n': 0})
        s = self.session()
        self.c.update_one({'_id': 1}, {'$inc': {'n': 1}}, session=s)
        self.fails(50, 'MaxTimeMSExpired', [], self.db.command,
                   {'update': 'c', 'updates': [{'q': {'_id': 1}, 'u': {'$inc': {'n': 10}}}], 'maxTimeMS': 200})
        thread = threading.Thread(target=self.c.update_one, args=({'_id': 1}, {'$inc': {'n': 100}}))
        thread.start()
        s.commit_transaction()
        thread.join()
        self.assertEqual(self.c.find_one(), {'_id': 1, 'n': 101})

    # Errors inside.

    def test_a_duplicate_key_ends_the_transaction(self):
        self.c.insert_one({'_id': 1})
        s = self.session()
        self.c.insert_one({'_id': 2}, session=s)
        self.fails_in_a_write(11000, self.c.insert_one, {'_id': 1}, session=s)
        self.is_gone(s)
        s.start_transaction()
        error = self.fails_in_a_write(11000, self.c.insert_many, [{'_id': 2}, {'_id': 1}, {'_id': 3}], ordered=False, session=s)
        self.assertEqual(error['index'], 1)
        self.is_gone(s)
        s.start_transaction()
        self.fails(11000, 'DuplicateKey', [], self.c.find_one_and_update, {'x': 7}, {'$set': {'_id': 1}}, upsert=True, session=s)
        self.is_gone(s)
        self.assertEqual(list(self.c.find()), [{'_id': 1}])

    def test_a_failed_statement_ends_the_transaction(self):
        self.c.insert_one({'_id': 1, 's': 'x'})
        for code, fail in ((14, lambda s: self.c.update_one({'_id': 1}, {'$inc': {'s': 1}}, session=s)),
                           (2, lambda s: self.c.delete_one({'$foo': 1}, session=s))):
            s = self.session()
            self.c.insert_one({'_id': 2}, session=s)
            self.fails_in_a_write(code, fail, s)
            self.is_gone(s)
        s = self.session()
        self.c.insert_one({'_id': 2}, session=s)
        self.fails(2, 'BadValue', [], self.c.find_one, {'$foo': 1}, session=s)
        self.is_gone(s)
        self.assertEqual(self.c.distinct('_id'), [1])

    def test_a_time_limit_inside(self):
        self.c.insert_one({'_id': 1})
        s = self.session()
        self.c.insert_one({'_id': 2}, session=s)
        details = self.fails(50, 'MaxTimeMSExpired', [], self.db.command,
                             {'find': 'c', 'filter': {'$where': 'while (true) {}'}, 'maxTimeMS': 100}, session=s)
        self.assertEqual(details['errmsg'], 'operation exceeded time limit')
        self.is_gone(s)

    # What works inside.

    def test_each_kind_of_write(self):
        self.c.insert_many([{'_id': i, 'n': i} for i in range(5)])
        s = self.session()
        self.assertEqual(self.c.find_one_and_update({'_id': 0}, {'$set': {'n': 10}}, session=s, return_document=True), {'_id': 0, 'n': 10})
        self.assertEqual(self.c.find_one_and_replace({'_id': 1}, {'m': 1}, session=s), {'_id': 1, 'n': 1})
        self.assertEqual(self.c.find_one_and_delete({'_id': 2}, session=s), {'_id': 2, 'n': 2})
        self.assertEqual(self.c.update_many({}, {'$inc': {'n': 1}}, session=s).modified_count, 4)
        self.assertEqual(self.c.update_one({'_id': 9}, {'$set': {'n': 9}}, upsert=True, session=s).upserted_id, 9)
        self.assertEqual(self.c.update_one({'_id': 9}, [{'$set': {'n': {'$add': ['$n', 1]}}}], session=s).modified_count, 1)
        done = self.c.bulk_write([pymongo.InsertOne({'_id': 20}), pymongo.UpdateOne({'_id': 20}, {'$set': {'n': 1}}),
                                  pymongo.ReplaceOne({'_id': 21}, {'n': 2}, upsert=True), pymongo.DeleteMany({'_id': {'$in': [3, 4]}})], session=s)
        self.assertEqual((done.inserted_count, done.modified_count, done.upserted_ids, done.deleted_count), (1, 1, {2: 21}, 2))
        want = [{'_id': 0, 'n': 11}, {'_id': 1, 'm': 1, 'n': 1}, {'_id': 9, 'n': 10}, {'_id': 20, 'n': 1}, {'_id': 21, 'n': 2}]
        self.assertEqual(list(self.c.find(session=s).sort('_id', 1)), want)
        self.assertEqual(self.c.count_documents({}), 5)
        s.commit_transaction()
        self.assertEqual(list(self.c.find().sort('_id', 1)), want)

    def test_each_kind_of_read(self):
        self.c.insert_many([{'_id': i, 'n': i, 'f': i % 2} for i in range(10)])
        self.db.foreign.insert_many([{'_id': 0, 'name': 'even'}, {'_id': 1, 'name': 'odd'}])
        s = self.session()
        self.c.find_one(session=s)
        self.db.foreign.update_many({}, {'$set': {'name': 'late'}})
        self.c.insert_one({'_id': 10, 'n': 10, 'f': 0}, session=s)
        lookup = {'$lookup': {'from': 'foreign', 'localField': 'f', 'foreignField': '_id', 'as': 'of'}}
        group = {'$group': {'_id': {'$first': '$of.name'}, 'count': {'$sum': 1}}}
        self.assertEqual(list(self.c.aggregate([lookup, group, {'$sort': {'_id': 1}}], session=s)),
                         [{'_id': 'even', 'count': 6}, {'_id': 'odd', 'count': 5}])
        self.assertEqual(sorted(self.c.distinct('f', {'n': {'$gt': 8}}, session=s)), [0, 1])
        self.assertEqual(self.c.count_documents({'f': 0}, session=s), 6)
        self.assertEqual(self.c.find_one({'_id': 10}, session=s), {'_id': 10, 'n': 10, 'f': 0})
        union = [{'$unionWith': 'foreign'}, {'$match': {'name': {'$exists': True}}}]
        self.assertEqual([one['name'] for one in self.c.aggregate(union, session=s)], ['even', 'odd'])
        graph = {'$graphLookup': {'from': 'foreign', 'startWith': '$f', 'connectFromField': 'f', 'connectToField': '_id', 'as': 'of'}}
        self.assertEqual(next(self.c.aggregate([graph], session=s))['of'], [{'_id': 0, 'name': 'even'}])
        s.commit_transaction()

    def test_a_client_bulk_write(self):
        if self.client.admin.command('hello')['maxWireVersion'] < 25:
            self.skipTest('drivers send no bulkWrite to this version')
        s = self.session()
        done = self.client.bulk_write([pymongo.InsertOne({'_id': 1}, namespace='t.c'), pymongo.InsertOne({'_id': 2}, namespace='t.d')], session=s)
        self.assertEqual((done.inserted_count, self.c.count_documents({})), (2, 0))
        s.commit_transaction()
        self.assertEqual((self.c.count_documents({}), self.db.d.count_documents({})), (1, 1))

    def test_indexes_serve_what_the_transaction_wrote(self):
        self.c.create_index('k')
        self.c.insert_many([{'_id': i, 'k': [i]} for i in range(5)])
        s = self.session()
        self.c.insert_one({'_id': 5, 'k': [5, 50]}, session=s)
        self.c.update_one({'_id': 0}, {'$set': {'k': 100}}, session=s)
        self.c.delete_one({'_id': 1}, session=s)
        for key, want in ((50, [5]), (0, []), (100, [0]), (1, []), (2, [2])):
            self.assertEqual([one['_id'] for one in self.c.find({'k': key}, session=s, hint='k_1')], want)
        self.assertEqual([one['_id'] for one in self.c.find({'k': 0}, hint='k_1')], [0])
        s.commit_transaction()
        self.assertTrue(self.db.command('validate', 'c', full=True)['valid'])
        self.assertEqual([one['_id'] for one in self.c.find({'k': 50}, hint='k_1')], [5])

    # Cursors.

    def test_cursors_of_several_batches(self):
        self.c.insert_many([{'_id': i} for i in range(100)])
        s = self.session()
        found = self.c.find(batch_size=7, session=s)
        piped = self.c.aggregate([{'$match': {}}], batchSize=9, session=s)
        first = [next(found)['_id'] for _ in range(10)]
        self.c.delete_many({})
        self.assertEqual(first + [one['_id'] for one in found], list(range(100)))
        self.assertEqual([one['_id'] for one in piped], list(range(100)))
        s.commit_transaction()

    def cursor(self, run):
        return bson.Int64(run('t', {'find': 'c', 'batchSize': 2})['cursor']['id'])

    def refused(self, code, name, labels, run, *args):
        with self.assertRaises(load.Failed) as caught:
            run(*args)
        reply = caught.exception.reply
        self.assertEqual((reply.get('code'), reply.get('codeName'), reply.get('errorLabels', [])), (code, name, labels), reply)
        return reply['errmsg']

    def test_a_cursor_belongs_to_its_transaction(self):
        self.c.insert_many([{} for _ in range(10)])
        s, other = load.Session(self.server.port), load.Session(self.server.port)
        s.begin()
        other.begin()
        inside = self.cursor(s.run)
        more = {'getMore': inside, 'collection': 'c'}
        self.refused(50740, 'Location50740', [], s.wire.ask, 't', {**more, 'lsid': s.id})
        self.refused(50738, 'Location50738', [], other.wire.ask, 't', {**more, 'lsid': other.id})
        self.refused(50737, 'Location50737', [], s.wire.ask, 't', more)
        outside = self.cursor(lambda db, command: s.wire.ask(db, {**command, 'lsid': s.id}))
        self.assertEqual(len(s.run('t', more)['cursor']['nextBatch']), 8)
        s.commit()
        s.begin()
        s.run('t', {'find': 'c'})
        self.refused(50739, 'Location50739', [], s.run, 't', {'getMore': outside, 'collection': 'c'})
        self.refused(251, 'NoSuchTransaction', TRANSIENT, s.commit)

    def test_a_cursor_ends_with_its_transaction(self):
        self.c.insert_many([{} for _ in range(10)])
        s = load.Session(self.server.port)
        for end in (s.commit, s.abort):
            s.begin()
            cursor = self.cursor(s.run)
            end()
            self.refused(43, 'CursorNotFound', [], s.wire.ask, 't', {'getMore': cursor, 'collection': 'c', 'lsid': s.id})

    def test_a_cursor_may_be_killed_inside(self):
        self.c.insert_many([{} for _ in range(10)])
        s = load.Session(self.server.port)
        s.begin()
        cursor = self.cursor(s.run)
        self.assertEqual(s.run('t', {'killCursors': 'c', 'cursors': [cursor]})['cursorsKilled'], [cursor])
        s.run('t', {'insert': 'c', 'documents': [{}]})
        s.commit()
        s.begin()
        self.refused(263, 'OperationNotSupportedInTransaction', [], s.run, 't', {'killCursors': 'c', 'cursors': [cursor]})

    # Definitions inside.

    def names(self, session=None):
        return sorted(self.db.list_collection_names())

    def test_collections_and_indexes_created_inside(self):
        for commits in (True, False):
            s = self.session()
            self.db.create_collection('made', session=s)
            self.db.made.create_index('a', session=s)
            self.db.made.create_index([('b', 1), ('c', -1)], unique=True, session=s)
            self.db.made.insert_one({'_id': 1, 'a': 1}, session=s)
            self.db.implied.insert_one({'_id': 1}, session=s)
            self.db.upserted.update_one({'_id': 1}, {'$set': {'a': 1}}, upsert=True, session=s)
            self.db.indexed.create_index('x', session=s)
            self.assertEqual(self.db.made.find_one({'a': 1}, session=s), {'_id': 1, 'a': 1})
            self.assertEqual(self.names(), [])
            self.assertIsNone(self.db.made.find_one())
            s.commit_transaction() if commits else s.abort_transaction()
            if commits:
                self.assertEqual(self.names(), ['implied', 'indexed', 'made', 'upserted'])
                self.assertEqual(sorted(self.db.made.index_information()), ['_id_', 'a_1', 'b_1_c_-1'])
                self.assertEqual([one['_id'] for one in self.db.made.find({'a': 1}, hint='a_1')], [1])
                self.fails_in_a_write(11000, self.db.made.insert_many, [{'b': 5}, {'b': 5}])
                self.client.drop_database('t')
        self.assertEqual(self.names(), [])
        self.db.made.insert_one({})  # the name is free

    def test_options_of_a_collection_created_inside(self):
        s = self.session()
        self.db.create_collection('made', validator={'a': {'$type': 'int'}}, session=s)
        s.commit_transaction()
        self.fails_in_a_write(121, self.db.made.insert_one, {'a': 'x'})

    def test_definitions_refused_inside(self):
        self.c.insert_one({'a': 1})
        self.c.create_index('there')
        s = self.session()
        self.assertEqual(self.c.create_index('there', session=s), 'there_1')  # exists: nothing to do
        self.fails(263, 'OperationNotSupportedInTransaction', [], self.c.create_index, 'a', session=s)
        self.is_gone(s)
        s.start_transaction()
        self.db.create_collection('made', session=s)
        self.db.made.insert_one({}, session=s)
        self.fails(263, 'OperationNotSupportedInTransaction', [], self.db.made.create_index, 'a', session=s)
        self.is_gone(s)
        s.start_transaction()
        self.db.made.insert_one({}, session=s)
        self.fails(48, 'NamespaceExists', [], self.db.command, {'create': 'c'}, session=s)
        self.is_gone(s)
        self.assertEqual(self.names(), ['c'])
        for command in ({'drop': 'c'}, {'dropIndexes': 'c', 'index': '*'}, {'collMod': 'c', 'validator': {}}, {'dropDatabase': 1},
                        {'listCollections': 1}, {'listIndexes': 'c'}, {'validate': 'c'}):
            s.start_transaction()
            self.c.insert_one({}, session=s)
            self.fails(263, 'OperationNotSupportedInTransaction', [], self.db.command, command, session=s)
            s.commit_transaction()  # refused before it began: the transaction goes on

    def test_two_sessions_create_one_collection(self):
        for make in (lambda s: self.db.create_collection('made', session=s, check_exists=False), lambda s: self.db.made.insert_one({}, session=s)):
            a, b = self.session(), self.session()
            make(a)
            make(b)
            self.db.other.insert_one({}, session=b)
            a.commit_transaction()
            self.fails(112, 'WriteConflict', TRANSIENT, b.commit_transaction)
            self.assertEqual(self.names(), ['made'])
            self.db.made.drop()

    def test_a_collection_created_outside_meanwhile(self):
        s = self.session()
        self.db.made.insert_one({'by': 's'}, session=s)
        self.db.made.insert_one({'by': 'other'})
        self.fails(112, 'WriteConflict', TRANSIENT, s.commit_transaction)
        self.assertEqual(self.db.made.distinct('by'), ['other'])

    # Definitions changed by others meanwhile. Such a change waits for no transaction.

    def change_of(self, name):
        return {'drop': lambda: self.c.drop(), 'rename': lambda: self.c.rename('renamed'), 'index': lambda: self.c.create_index('a'),
                'no index': lambda: self.c.drop_index('k_1'), 'modified': lambda: self.db.command({'collMod': 'c', 'validator': {'k': 1}}),
                'drop of the database': lambda: self.client.drop_database('t')}[name]

    CHANGES = ('drop', 'rename', 'index', 'no index', 'modified', 'drop of the database')

    def start(self):
        self.client.drop_database('t')
        self.c.create_index('k')
        self.c.insert_many([{'_id': i, 'k': 1} for i in range(10)])
        return self.session()

    def test_a_change_before_the_next_read(self):
        for name in self.CHANGES:
            with self.subTest(name):
                s = self.start()
                self.c.find_one(session=s)
                self.change_of(name)()
                self.fails(246, 'SnapshotUnavailable', TRANSIENT, self.c.find_one, session=s)
                self.is_gone(s)

    def test_a_change_before_the_next_batch(self):
        for name in self.CHANGES:
            with self.subTest(name):
                s = self.start()
                cursor = self.c.find({'k': 1}, batch_size=2, session=s)
                next(cursor)
                self.change_of(name)()
                try:
                    self.assertEqual(len(list(cursor)), 9)  # all of its snapshot, or an error that has it tried again
                except pymongo.errors.OperationFailure as error:
                    self.assertIn(error.code, (112, 246))
                    self.assertEqual(error.details['errorLabels'], TRANSIENT)

    def test_a_change_before_the_next_write(self):
        for name in self.CHANGES:
            with self.subTest(name):
                s = self.start()
                self.db.other.insert_one({}, session=s)
                self.change_of(name)()
                self.fails(246, 'SnapshotUnavailable', TRANSIENT, self.c.insert_one, {'k': 1}, session=s)
                self.is_gone(s)

    def test_a_change_before_the_commit(self):
        for name in self.CHANGES:
            with self.subTest(name):
                s = self.start()
                self.c.insert_one({'_id': 'new', 'k': 1}, session=s)
                self.change_of(name)()
                self.fails(112, 'WriteConflict', TRANSIENT, s.commit_transaction)
                self.assertIsNone(self.c.find_one('new'))
                self.assertIsNone(self.db.renamed.find_one('new'))

    # Ends that others bring.

    def test_the_lifetime_limit(self):
        before = self.client.admin.command({'getParameter': 1, 'transactionLifetimeLimitSeconds': 1})
        self.assertEqual(before['transactionLifetimeLimitSeconds'], 60)
        self.client.admin.command({'setParameter': 1, 'transactionLifetimeLimitSeconds': 1})
        self.addCleanup(self.client.admin.command, {'setParameter': 1, 'transactionLifetimeLimitSeconds': 60})
        self.c.insert_one({'_id': 1, 'n': 0})
        writer, reader = self.session(), self.session()
        self.c.update_one({'_id': 1}, {'$inc': {'n': 1}}, session=writer)
        self.c.find_one(session=reader)
        self.c.update_one({'_id': 1}, {'$inc': {'n': 10}})  # waits until the writer is aborted
        deadline = time.monotonic() + SECONDS_MAX
        while self.client.admin.command('serverStatus')['transactions']['currentOpen'] > 0:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        self.fails(251, 'NoSuchTransaction', TRANSIENT, self.c.insert_one, {}, session=writer)
        self.fails(251, 'NoSuchTransaction', TRANSIENT, self.c.find_one, session=reader)
        self.assertEqual(self.c.find_one(), {'_id': 1, 'n': 10})

    def test_sessions_ended_and_killed(self):
        for command in (lambda s: {'endSessions': [s.id]}, lambda s: {'killSessions': [s.id]}, lambda s: {'killAllSessions': []},
                        lambda s: {'killAllSessionsByPattern': [{'lsid': {**s.id, 'uid': bson.Binary(NO_USER)}}]}):
            with self.subTest(command):
                s = load.Session(self.server.port)
                s.begin()
                s.run('t', {'insert': 'c', 'documents': [{}]})
                self.client.admin.command(command(s))
                self.refused(251, 'NoSuchTransaction', TRANSIENT, s.commit)
        self.assertEqual(self.c.count_documents({}), 0)

    def test_a_driver_that_ends_its_session(self):
        with self.client.start_session() as s:
            s.start_transaction()
            self.c.insert_one({'_id': 1}, session=s)
        self.c.insert_one({'_id': 1})  # nothing stands in its way

    def test_a_new_transaction_takes_the_place_of_the_old(self):
        s = load.Session(self.server.port)
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{'_id': 1}]})
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{'_id': 1}, {'_id': 2}]})
        s.commit()
        self.assertEqual(self.c.count_documents({}), 2)

    # Concerns.

    def test_read_concerns(self):
        self.c.insert_one({'_id': 1})
        for level in ('local', 'majority', 'snapshot'):
            s = self.session(read_concern=pymongo.read_concern.ReadConcern(level))
            self.assertEqual(self.c.count_documents({}, session=s), 1)
            self.c.insert_one({}, session=s)
            s.abort_transaction()
        s = load.Session(self.server.port)
        for level in ('available', 'linearizable'):
            s.begin(level)
            self.refused(72, 'InvalidOptions', [], s.run, 't', {'find': 'c'})
        s.begin('nonsense')
        self.refused(2, 'BadValue', [], s.run, 't', {'find': 'c'})

    def test_concerns_of_later_statements_are_refused(self):
        s = load.Session(self.server.port)
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{'_id': 1}]})
        for command in ({'insert': 'c', 'documents': [{}]}, {'find': 'c'}):
            for level in ('local', 'majority', 'snapshot'):
                self.refused(72, 'InvalidOptions', [], s.run, 't', {**command, 'readConcern': {'level': level}})
        for concern in ({'w': 1}, {'w': 'majority'}):
            self.refused(72, 'InvalidOptions', [], s.run, 't', {'insert': 'c', 'documents': [{}], 'writeConcern': concern})
        s.commit()  # none of them has ended it
        self.assertEqual(self.c.distinct('_id'), [1])
        s.begin()
        self.refused(72, 'InvalidOptions', [], s.run, 't', {'insert': 'c', 'documents': [{}], 'writeConcern': {'w': 1}})

    def test_write_concerns_of_commits(self):
        WriteConcern = pymongo.write_concern.WriteConcern
        for at, concern in enumerate((None, WriteConcern(1), WriteConcern('majority'), WriteConcern(1, j=True), WriteConcern('majority', wtimeout=1000))):
            s = self.session(write_concern=concern)
            self.c.insert_one({'_id': at}, session=s)
            s.commit_transaction()
        self.assertEqual(self.c.count_documents({}), 5)

    # Sizes.

    def test_more_than_16_and_64_megabytes(self):
        for count in (3, 10):
            s = self.session()
            for i in range(count):
                self.c.insert_one({'_id': i, 'pad': 'x' * BIG}, session=s)
            self.c.update_one({'_id': 0}, {'$set': {'more': 'y' * BIG}}, session=s)
            self.assertEqual(self.c.count_documents({}), 0)
            s.commit_transaction()
            sizes = [one['size'] for one in self.c.aggregate([{'$project': {'size': {'$bsonSize': '$$ROOT'}}}])]
            self.assertEqual((len(sizes), min(sizes) > BIG, max(sizes) > 2 * BIG), (count, True, True))
            self.c.drop()

    # The forms that are refused.

    def test_fields_that_do_not_fit(self):
        lsid, number = load.Session(self.server.port).id, bson.Int64(5)
        wire = load.Wire(self.server.port)
        find = {'find': 'c'}
        for words, more in (
                ('Transaction number requires a session ID', {'txnNumber': number}),
                ("'autocommit' field requires a transaction number", {'lsid': lsid, 'autocommit': False}),
                ("'startTransaction' field requires 'autocommit' field", {'lsid': lsid, 'txnNumber': number, 'startTransaction': True}),
                ('Specifying autocommit=true is not allowed', {'lsid': lsid, 'txnNumber': number, 'autocommit': True}),
                ('Specifying autocommit=true is not allowed', {'lsid': lsid, 'txnNumber': number, 'autocommit': True, 'startTransaction': True}),
                ('Specifying startTransaction=false is not allowed', {'lsid': lsid, 'txnNumber': number, 'autocommit': False, 'startTransaction': False}),
                ('Transaction number cannot be negative', {'lsid': lsid, 'txnNumber': bson.Int64(-1), 'autocommit': False, 'startTransaction': True})):
            with self.subTest(more=more):
                self.assertIn(words, self.refused(72, 'InvalidOptions', [], wire.ask, 't', {**find, **more}))
        self.refused(14, 'TypeMismatch', [], wire.ask, 't', {**find, 'lsid': lsid, 'txnNumber': 5, 'autocommit': False, 'startTransaction': True})
        self.refused(50768, 'NotARetryableWriteCommand', [], wire.ask, 't', {**find, 'lsid': lsid, 'txnNumber': number})

    def test_ends_that_do_not_fit(self):
        s = load.Session(self.server.port)
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{}]})
        for name in ('commitTransaction', 'abortTransaction'):
            with self.subTest(name):
                number = bson.Int64(s.number)
                self.refused(125, 'CommandFailed', [], s.wire.ask, 'admin', {name: 1})
                self.refused(125, 'CommandFailed', [], s.wire.ask, 'admin', {name: 1, 'lsid': s.id})
                self.refused(50768, 'NotARetryableWriteCommand', [], s.wire.ask, 'admin', {name: 1, 'lsid': s.id, 'txnNumber': number})
                self.refused(72, 'InvalidOptions', [], s.wire.ask, 'admin', {name: 1, 'lsid': s.id, 'txnNumber': number, 'autocommit': True})
                self.refused(263, 'OperationNotSupportedInTransaction', [], s.wire.ask, 'admin',
                             {name: 1, 'lsid': s.id, 'txnNumber': bson.Int64(s.number + 1), 'autocommit': False, 'startTransaction': True})
                self.refused(13, 'Unauthorized', [], s.wire.ask, 't', {name: 1, **s.fields()})
        self.refused(40415, 'Location40415', [], s.wire.ask, 'admin', {'commitTransaction': 1, 'invalidField': 1, **s.fields()})
        s.commit()
        self.assertEqual(self.c.count_documents({}), 1)

    def test_numbers_that_do_not_fit(self):
        s = load.Session(self.server.port)
        s.number = 9
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{}]})
        again = {**s.fields(), 'startTransaction': True}
        self.refused(117, 'ConflictingOperationInProgress', [], s.wire.ask, 't', {'find': 'c', **again})
        self.refused(225, 'TransactionTooOld', [], s.wire.ask, 't', {'find': 'c', **again, 'txnNumber': bson.Int64(9)})
        self.refused(225, 'TransactionTooOld', [], s.wire.ask, 't', {'find': 'c', **s.fields(), 'txnNumber': bson.Int64(9)})
        self.refused(251, 'NoSuchTransaction', TRANSIENT, s.wire.ask, 't', {'find': 'c', **s.fields(), 'txnNumber': bson.Int64(11)})
        self.refused(217, 'IncompleteTransactionHistory', [], s.wire.ask, 't',
                     {'insert': 'c', 'documents': [{}], 'lsid': s.id, 'txnNumber': bson.Int64(10)})
        s.commit()
        self.assertEqual(self.c.count_documents({}), 1)
        s.wire.ask('t', {'insert': 'c', 'documents': [{}], 'lsid': s.id, 'txnNumber': bson.Int64(12)})  # retryable
        self.refused(225, 'TransactionTooOld', [], s.wire.ask, 't', {'find': 'c', **again, 'txnNumber': bson.Int64(11)})

    def test_a_transaction_that_has_ended(self):
        s = load.Session(self.server.port)
        insert = {'insert': 'c', 'documents': [{}]}
        s.begin()
        s.run('t', insert)
        s.abort()
        self.refused(251, 'NoSuchTransaction', TRANSIENT, s.commit)
        self.refused(251, 'NoSuchTransaction', TRANSIENT, s.abort)
        self.refused(251, 'NoSuchTransaction', TRANSIENT, s.run, 't', insert)
        self.refused(117, 'ConflictingOperationInProgress', [], s.wire.ask, 't', {**insert, **s.fields(), 'startTransaction': True})
        s.begin()
        s.run('t', insert)
        s.commit()
        self.refused(256, 'TransactionCommitted', [], s.abort)
        self.refused(256, 'TransactionCommitted', [], s.run, 't', insert)
        self.refused(117, 'ConflictingOperationInProgress', [], s.wire.ask, 't', {**insert, **s.fields(), 'startTransaction': True})
        s.commit()
        self.assertEqual(self.c.count_documents({}), 1)

    def test_commands_refused_inside(self):
        self.c.insert_one({'_id': 1})
        s = load.Session(self.server.port)
        for db, command in (('t', {'count': 'c'}), ('t', {'explain': {'find': 'c'}}), ('t', {'ping': 1}), ('t', {'hello': 1}),
                            ('t', {'buildInfo': 1}), ('t', {'listCommands': 1}), ('t', {'collStats': 'c'}), ('t', {'dbStats': 1}),
                            ('admin', {'renameCollection': 't.c', 'to': 't.d'}), ('admin', {'fsync': 1}), ('admin', {'serverStatus': 1}),
                            ('config', {'find': 'transactions'}), ('local', {'find': 'startup_log'}), ('admin', {'find': 'x'}),
                            ('admin', {'insert': 'x', 'documents': [{}]})):
            with self.subTest(command=command):
                s.begin()
                self.refused(263, 'OperationNotSupportedInTransaction', [], s.run, db, command)
                self.refused(251, 'NoSuchTransaction', TRANSIENT, s.commit)  # it was not begun
                s.begin()
                s.run('t', {'find': 'c'})
                self.refused(263, 'OperationNotSupportedInTransaction', [], s.run, db, command)
                s.commit()  # it was not ended

    def test_stages_refused_inside(self):
        self.c.insert_one({'_id': 1})
        s = load.Session(self.server.port)
        for db, of, stage in (('t', 'c', {'$out': 'd'}), ('t', 'c', {'$merge': 'd'}), ('t', 'c', {'$collStats': {'count': {}}}),
                              ('t', 'c', {'$indexStats': {}}), ('admin', 1, {'$currentOp': {}})):
            with self.subTest(stage=stage):
                s.begin()
                self.refused(263, 'OperationNotSupportedInTransaction', [], s.run, db, {'aggregate': of, 'pipeline': [stage], 'cursor': {}})
                self.refused(251, 'NoSuchTransaction', TRANSIENT, s.commit)
        self.assertEqual(self.names(), ['c'])

    def test_collections_refused_inside(self):
        self.db['system.js'].insert_one({'_id': 'f', 'value': 1})
        s = self.client.start_session()
        self.addCleanup(s.end_session)
        for write in ((self.db['system.js'].insert_one, {'_id': 'g', 'value': 1}), (self.db['system.js'].delete_one, {'_id': 'f'})):
            s.start_transaction()
            self.fails(50791, 'Location50791', [], *write, session=s)
            self.is_gone(s)
        s.start_transaction()
        self.fails(50781, 'Location50781', [], self.db['system.js'].find_one_and_delete, {}, session=s)
        self.is_gone(s)

    # Restarts.

    def test_what_is_left_after_a_kill(self):
        with harness.Server(arguments=self.arguments) as server:
            done, open_one, aborted = (load.Session(server.port) for _ in range(3))
            for session, key in ((done, 'done'), (open_one, 'open'), (aborted, 'aborted')):
                session.begin()
                session.run('t', {'create': 'c_' + key})
                session.run('t', {'createIndexes': 'c_' + key, 'indexes': [{'key': {'a': 1}, 'name': 'a_1'}]})
                session.run('t', {'insert': 'c_' + key, 'documents': [{'_id': key, 'a': 1}]})
                session.run('t', {'insert': 'implied_' + key, 'documents': [{}]})
            done.commit()
            aborted.abort()
            server.kill()
            server.start()
            for session in (done, open_one, aborted):
                session.wire.close()
            done.commit()
            done.commit()
            self.refused(256, 'TransactionCommitted', [], done.abort)
            self.refused(256, 'TransactionCommitted', [], done.run, 't', {'find': 'c'})
            self.refused(251, 'NoSuchTransaction', TRANSIENT, open_one.commit)
            self.refused(251, 'NoSuchTransaction', TRANSIENT, open_one.run, 't', {'find': 'c'})
            self.refused(251, 'NoSuchTransaction', TRANSIENT, aborted.commit)
            with server.client() as client:
                self.assertEqual(sorted(client.t.list_collection_names()), ['c_done', 'implied_done'])
                self.assertEqual(list(client.t.c_done.find({'a': 1}, hint='a_1')), [{'_id': 'done', 'a': 1}])
                self.assertTrue(client.t.command('validate', 'c_done', full=True)['valid'])
            for session in (done, open_one, aborted):  # each goes on with its next number
                session.begin()
                session.run('t', {'insert': 'c_done', 'documents': [{}]})
                session.commit()

    def test_an_orderly_end_with_open_transactions(self):
        with harness.Server(arguments=self.arguments) as server:
            sessions = [load.Session(server.port) for _ in range(8)]
            for at, session in enumerate(sessions):
                session.begin()
                session.run('t', {'insert': 'c', 'documents': [{'_id': 10 * at + i} for i in range(5)]})
                if at % 2:
                    session.run('t', {'find': 'c', 'batchSize': 2})
            self.assertEqual(server.stop(), 0)
            server.start()
            for session in sessions:
                session.wire.close()
                self.refused(251, 'NoSuchTransaction', TRANSIENT, session.commit)
            with server.client() as client:
                self.assertEqual(client.t.list_collection_names(), [])

    def test_a_big_commit_survives_a_kill(self):
        with harness.Server(arguments=self.arguments) as server, server.client() as client:
            with client.start_session() as s:
                for commits in (True, False):
                    s.start_transaction()
                    for i in range(10):
                        client.t.c.insert_one({'commits': commits, 'pad': 'x' * BIG}, session=s)
                    if commits:
                        s.commit_transaction()
                server.kill()
                server.start()
                self.assertEqual([one['commits'] for one in client.t.c.find({}, {'commits': 1})], [True] * 10)
                s.abort_transaction()


NO_USER = bytes.fromhex('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')  # SHA-256 of nothing


class StandaloneTest(Tests, Case):
    def test_a_concern_that_cannot_be_met(self):
        s = load.Session(self.server.port)
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{}]})
        self.refused(2, 'BadValue', [], s.ask, 'admin', {'commitTransaction': 1, 'writeConcern': {'w': 2}, **s.fields()})
        s.commit()
        self.assertEqual(self.c.count_documents({}), 1)


class ReplicaSetTest(Tests, Case):
    arguments = ARGUMENTS + ['--replSet', 'rs0']

    def test_a_concern_that_cannot_be_met(self):
        s = load.Session(self.server.port)
        s.begin()
        s.run('t', {'insert': 'c', 'documents': [{}]})
        with self.assertRaises(load.Failed) as caught:
            s.ask('admin', {'commitTransaction': 1, 'writeConcern': {'w': 2}, **s.fields()})
        reply = caught.exception.reply
        self.assertEqual((reply['ok'], reply['writeConcernError']['code'], reply['writeConcernError']['codeName'], reply.get('errorLabels', [])),
                         (1, 100, 'UnsatisfiableWriteConcern', []))
        self.assertEqual(self.c.count_documents({}), 1)

    def test_replies_carry_times(self):
        s = load.Session(self.server.port)
        s.begin()
        for reply in (s.run('t', {'insert': 'c', 'documents': [{}]}), s.run('t', {'find': 'c'}), s.commit(), s.commit()):
            self.assertIn('operationTime', reply)
            self.assertIn('$clusterTime', reply)

    def test_a_causal_session(self):
        with self.client.start_session(causal_consistency=True) as s:
            self.c.insert_one({'_id': 1}, session=s)
            with s.start_transaction(read_concern=pymongo.read_concern.ReadConcern('snapshot')):
                self.assertEqual(self.c.find_one(session=s), {'_id': 1})
                self.c.insert_one({'_id': 2}, session=s)
            self.assertEqual(self.c.count_documents({}, session=s), 2)


if __name__ == '__main__':
    unittest.main()

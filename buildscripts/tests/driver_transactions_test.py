# SPDX-License-Identifier: Apache-2.0
"""Multi-document transactions as an application meets them, on a standalone and on a replica set of one: what they may do, what
others see meanwhile, and what is left of them. Refusals: driver_transaction_refusals_test."""
import os
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import transaction_load as load  # noqa: E402
from transaction_case import REPLICA_SET, TRANSIENT, Case  # noqa: E402

pymongo = harness.import_pymongo()
import bson  # noqa: E402

BIG = 8_000_000  # bytes of a document's padding


class Tests:
    """Run on both kinds of server."""

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
        s.commit_transaction()  # a commit may be repeated

    def test_a_commit_may_be_repeated_with_other_concerns(self):
        s = self.raw_session()
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
        s = self.raw_session()
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

    def test_a_time_limit_of_the_commit(self):
        s = self.session(max_commit_time_ms=60_000)
        self.c.insert_one({}, session=s)
        s.commit_transaction()
        self.fail_point({'times': 1}, failCommands=['commitTransaction'], errorCode=50)
        s.start_transaction(max_commit_time_ms=1)
        self.c.insert_one({}, session=s)
        with self.assertRaises(pymongo.errors.ExecutionTimeout) as caught:
            s.commit_transaction()
        self.assertTrue(caught.exception.has_error_label('UnknownTransactionCommitResult'))
        self.assertFalse(caught.exception.has_error_label('TransientTransactionError'))
        s.commit_transaction()
        self.assertEqual(self.c.count_documents({}), 2)

    def test_labels_of_an_unmet_write_concern_and_of_a_prepared_transaction(self):
        for fail, is_transient in ({'writeConcernError': {'code': 262, 'errmsg': 'x'}}, False), ({'errorCode': 262}, True), ({'errorCode': 267}, True):
            s = self.session()
            self.fail_point({'times': 1}, failCommands=['insert'], **fail)
            with self.assertRaises(pymongo.errors.PyMongoError) as caught:
                self.c.insert_one({}, session=s)
            self.assertEqual(caught.exception.has_error_label('TransientTransactionError'), is_transient, fail)
            s.abort_transaction()

    def test_the_counts_of_server_status(self):
        def counts():
            return self.client.admin.command('serverStatus')['transactions']
        before = counts()
        self.assertEqual(before['currentOpen'], 0)
        a, b, c = self.session(), self.session(), self.session()
        for s in (a, b, c):
            self.c.find_one(session=s)
        a.commit_transaction()
        b.abort_transaction()
        after = counts()
        self.assertEqual([after[name] - before[name] for name in ('totalStarted', 'totalCommitted', 'totalAborted', 'currentOpen', 'currentInactive')],
                         [3, 1, 1, 1, 1])
        c.abort_transaction()

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
        """With a replica set, the driver repeats the commit once; with a standalone, the application must."""
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
        s = self.raw_session()
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

    def test_keys_that_others_have_committed_since(self):
        """Also where the transaction's snapshot does not show the key."""
        self.c.create_index('k', unique=True)
        for name, others, write in (
                ('_id', lambda: self.c.insert_one({'_id': 1, 'k': 1}), lambda s: self.c.insert_one({'_id': 1, 'k': 2}, session=s)),
                ('unique key', lambda: self.c.insert_one({'_id': 1, 'k': 1}), lambda s: self.c.insert_one({'_id': 2, 'k': 1}, session=s)),
                ('upsert', lambda: self.c.insert_one({'_id': 1, 'k': 1}), lambda s: self.c.update_one({'k': 1}, {'$inc': {'n': 1}}, upsert=True, session=s)),
                ('deleted _id', lambda: self.c.delete_one({'_id': 0}), lambda s: self.c.insert_one({'_id': 0, 'k': 5}, session=s)),
                ('deleted key', lambda: self.c.delete_one({'_id': 0}), lambda s: self.c.insert_one({'_id': 5, 'k': 0}, session=s)),
                ('update', lambda: self.c.delete_one({'_id': 0}), lambda s: self.c.update_one({'_id': 0}, {'$set': {'k': 5}}, session=s)),
                ('delete', lambda: self.c.update_one({'_id': 0}, {'$set': {'k': 5}}), lambda s: self.c.delete_one({'_id': 0}, session=s))):
            with self.subTest(name):
                self.c.delete_many({})
                self.c.insert_one({'_id': 0, 'k': 0})
                s = self.session()
                self.c.find_one(session=s)
                others()
                self.fails(112, 'WriteConflict', TRANSIENT, write, s)

    def test_keys_that_the_transaction_itself_frees(self):
        self.c.create_index('k', unique=True)
        self.c.insert_many([{'_id': i, 'k': i} for i in range(3)])
        s = self.session()
        self.c.delete_one({'_id': 0}, session=s)
        self.c.insert_one({'_id': 0, 'k': 9}, session=s)
        self.c.insert_one({'_id': 10, 'k': 0}, session=s)
        self.c.update_one({'_id': 1}, {'$set': {'k': 11}}, session=s)
        self.c.update_one({'_id': 2}, {'$set': {'k': 1}}, session=s)
        s.commit_transaction()
        self.assertEqual(list(self.c.find(hint='k_1')), [{'_id': 10, 'k': 0}, {'_id': 2, 'k': 1}, {'_id': 0, 'k': 9}, {'_id': 1, 'k': 11}])

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

    def test_a_cursor_belongs_to_its_transaction(self):
        self.c.insert_many([{} for _ in range(10)])
        s, other = self.raw_session(), self.raw_session()
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
        s = self.raw_session()
        for end in (s.commit, s.abort):
            s.begin()
            cursor = self.cursor(s.run)
            end()
            self.refused(43, 'CursorNotFound', [], s.wire.ask, 't', {'getMore': cursor, 'collection': 'c', 'lsid': s.id})

    def test_a_cursor_may_be_killed_inside(self):
        self.c.insert_many([{} for _ in range(10)])
        s = self.raw_session()
        s.begin()
        cursor = self.cursor(s.run)
        self.assertEqual(s.run('t', {'killCursors': 'c', 'cursors': [cursor]})['cursorsKilled'], [cursor])
        s.run('t', {'insert': 'c', 'documents': [{}]})
        s.commit()
        s.begin()
        self.refused(263, 'OperationNotSupportedInTransaction', [], s.run, 't', {'killCursors': 'c', 'cursors': [cursor]})

    # Definitions inside.

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

    # Definitions changed by others meanwhile. A definition change does not wait for transactions.

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

    # Restarts.

    def test_what_is_left_after_a_kill(self):
        with harness.Server(arguments=self.arguments) as server:
            done, open_one, aborted = (self.raw_session(server) for _ in range(3))
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
            sessions = [self.raw_session(server) for _ in range(8)]
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


class StandaloneTest(Tests, Case):
    pass


class ReplicaSetTest(Tests, Case):
    arguments = REPLICA_SET

    def test_replies_carry_times(self):
        s = self.raw_session()
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

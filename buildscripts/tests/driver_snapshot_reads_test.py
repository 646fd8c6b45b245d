#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads at one moment of the past, outside of transactions: a driver's snapshot sessions, cursors that read on while everything
changes, times that replies have shown, how long that works, and that it does not cost the server its memory."""
import os
import random
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attacks  # noqa: E402
import harness  # noqa: E402
from transaction_case import REPLICA_SET, TRANSIENT, Case  # noqa: E402

pymongo = harness.import_pymongo()
import bson  # noqa: E402
from pymongo.read_concern import ReadConcern  # noqa: E402

ACCOUNTS, TOTAL = 200, 200 * 100


class Transfers:
    """Threads that move money between accounts, a transaction for each transfer, until the end of the with statement."""

    def __init__(self, server, threads=3):
        self.server, self.done, self.made = server, threading.Event(), [0] * threads
        seed = harness.seed()
        self.threads = [threading.Thread(target=self.run, args=(n, random.Random(seed + n))) for n in range(threads)]
        self.problem = None

    def run(self, n, rng):
        try:
            with self.server.client() as client:
                while not self.done.is_set():
                    with client.start_session() as session:
                        session.with_transaction(lambda s, r=rng: self.transfer(client.t.c, s, r))
                    self.made[n] += 1
        except Exception as problem:  # pylint: disable=broad-except
            self.problem = problem

    @staticmethod
    def transfer(accounts, session, rng):
        giver, taker = rng.sample(range(ACCOUNTS), 2)
        for account, amount in ((giver, -1), (taker, 1)):
            accounts.update_one({'_id': account}, {'$inc': {'balance': amount}, '$set': {'padding': 'x' * rng.randrange(500)}}, session=session)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        for thread in self.threads:
            thread.join()


class AtTime(ReadConcern):
    """What pymongo has no way to ask for: the time at which a transaction reads."""

    def __init__(self, when):
        super().__init__('snapshot')
        self.when = when

    @property
    def document(self):
        return {'level': 'snapshot', 'atClusterTime': self.when}


class SnapshotReadsTest(Case):
    arguments = REPLICA_SET

    def open_accounts(self):
        self.c.insert_many([{'_id': n, 'balance': 100} for n in range(ACCOUNTS)])

    def snapshot_session(self):
        session = self.client.start_session(snapshot=True)
        self.addCleanup(session.end_session)
        return session

    def at(self, when, command):
        """The reply to a command at a time of the log."""
        return self.db.command({**command, 'readConcern': {'level': 'snapshot', 'atClusterTime': when}})

    def all_at(self, when):
        return self.at(when, {'find': 'c', 'sort': {'_id': 1}, 'batchSize': 10_000})['cursor']['firstBatch']

    def test_a_session_sees_one_moment_while_others_write(self):
        self.open_accounts()
        with Transfers(self.server) as transfers:
            seen = []
            for _ in range(5):
                session = self.snapshot_session()
                first = {a['_id']: a['balance'] for a in self.c.find({}, {'padding': 0}, batch_size=20, session=session)}
                self.assertEqual((sum(first.values()), len(first)), (TOTAL, ACCOUNTS))
                before = sum(transfers.made)
                while sum(transfers.made) < before + 20:
                    self.assertIsNone(transfers.problem)
                    time.sleep(0.01)
                again = {a['_id']: a['balance'] for a in self.c.find({}, {'padding': 0}, batch_size=30, session=session)}
                self.assertEqual(again, first)
                grouped = self.c.aggregate([{'$group': {'_id': None, 'sum': {'$sum': '$balance'}}}], session=session)
                self.assertEqual(list(grouped), [{'_id': None, 'sum': TOTAL}])
                joined = self.c.aggregate([{'$lookup': {'from': 'c', 'localField': '_id', 'foreignField': '_id', 'as': 'same'}},
                                           {'$match': {'$expr': {'$ne': ['$balance', {'$first': '$same.balance'}]}}}], session=session)
                self.assertEqual(list(joined), [])
                self.assertEqual(sorted(self.c.distinct('balance', session=session)), sorted(set(first.values())))
                seen.append(first)
            self.assertIsNone(transfers.problem)
        self.assertGreater(len({tuple(sorted(one.items())) for one in seen}), 1)

    def test_a_cursor_goes_on_as_if_nothing_had_changed(self):
        self.c.insert_many([{'_id': n, 'v': 'old', 'padding': 'x' * 1000} for n in range(2000)])
        session = self.snapshot_session()
        cursor = self.c.find({}, batch_size=100, session=session)
        documents = [next(cursor) for _ in range(100)]
        self.c.update_many({'_id': {'$lt': 1500}}, {'$set': {'v': 'new'}})
        self.c.create_index('v')
        documents += [next(cursor) for _ in range(700)]
        self.c.delete_many({})
        self.c.insert_many([{'_id': n, 'v': 'other'} for n in range(3000)])
        documents += cursor
        self.assertEqual([(d['_id'], d['v']) for d in documents], [(n, 'old') for n in range(2000)])
        self.assertEqual({d['v'] for d in self.c.find({}, {'v': 1})}, {'other'})

    def test_the_time_of_any_reply_can_be_read_at(self):
        self.c.insert_one({'_id': 0})
        with self.client.start_session(snapshot=True) as session:
            self.c.find_one(session=session)  # from here on the server keeps the past
        expected, contents = {}, {0: {'_id': 0}}
        for n in range(1, 40):
            with self.client.start_session() as session:
                if n % 5 == 0:
                    oldest = min(key for key in contents if key != 0)
                    self.c.delete_one({'_id': oldest}, session=session)
                    contents.pop(oldest)
                elif n % 3 == 0:
                    self.c.update_one({'_id': 0}, {'$set': {'n': n}}, session=session)
                    contents[0] = {'_id': 0, 'n': n}
                else:
                    self.c.insert_one({'_id': n}, session=session)
                    contents[n] = {'_id': n}
                expected[session.operation_time] = [contents[key] for key in sorted(contents)]
        self.assertEqual(len(expected), 39)
        for when, documents in expected.items():
            self.assertEqual(self.all_at(when), documents)
            reply = self.at(when, {'distinct': 'c', 'key': '_id'})
            self.assertEqual((reply['values'], reply['atClusterTime']), ([d['_id'] for d in documents], when))
            reply = self.at(when, {'aggregate': 'c', 'pipeline': [{'$count': 'n'}], 'cursor': {}})
            self.assertEqual((reply['cursor']['firstBatch'], reply['cursor']['atClusterTime']), ([{'n': len(documents)}], when))

    def test_what_a_snapshot_cannot_do(self):
        self.c.insert_one({'_id': 1})
        session = self.snapshot_session()
        for refused in (lambda: self.c.insert_one({}, session=session), lambda: self.c.delete_many({}, session=session),
                        lambda: self.c.find_one_and_update({}, {'$set': {'a': 1}}, session=session),
                        lambda: self.db.command({'count': 'c'}, session=session), lambda: list(self.db.list_collections(session=session)),
                        lambda: list(self.c.list_indexes(session=session)), lambda: self.client.list_database_names(session=session)):
            self.fails(72, 'InvalidOptions', [], refused)
        self.assertRaises(pymongo.errors.InvalidOperation, session.start_transaction)
        self.assertEqual(self.c.count_documents({}, session=session), 1)
        future = bson.Timestamp(2 ** 32 - 1, 1)
        self.fails(72, 'InvalidOptions', [], self.at, future, {'find': 'c'})
        self.fails(72, 'InvalidOptions', [], self.at, bson.Timestamp(0, 1), {'find': 'c'})
        self.fails(239, 'SnapshotTooOld', [], self.at, bson.Timestamp(1_000_000_000, 1), {'find': 'c'})

    def test_what_was_made_or_dropped_since(self):
        self.c.insert_one({'_id': 1})
        self.db.d.insert_one({'_id': 1})
        session = self.snapshot_session()
        self.assertEqual(self.c.count_documents({}, session=session), 1)
        self.db.d.drop()
        self.db.e.insert_one({'_id': 1})
        self.db.c.update_one({'_id': 1}, {'$set': {'a': 1}})
        for name in 'de':
            self.fails(246, 'SnapshotUnavailable', [], self.db[name].find_one, session=session)
        self.assertEqual(self.c.find_one(session=session), {'_id': 1})
        self.c.drop()
        self.fails(246, 'SnapshotUnavailable', [], self.c.find_one, session=session)
        self.c.insert_one({'_id': 2})
        self.fails(246, 'SnapshotUnavailable', [], self.c.find_one, session=session)
        self.assertEqual(self.c.find_one(session=self.snapshot_session()), {'_id': 2})

    def test_a_transaction_in_the_past(self):
        self.c.insert_many([{'_id': 1, 'n': 0}, {'_id': 2, 'n': 0}])
        with self.client.start_session(snapshot=True) as session:
            self.c.find_one(session=session)
        with self.client.start_session() as session:
            self.c.update_one({'_id': 1}, {'$inc': {'n': 1}}, session=session)
            when = session.operation_time
        self.c.update_one({'_id': 1}, {'$inc': {'n': 1}})
        self.c.delete_one({'_id': 2})
        session = self.session(read_concern=AtTime(when))
        self.assertEqual(list(self.c.find({}, session=session)), [{'_id': 1, 'n': 1}, {'_id': 2, 'n': 0}])
        self.c.insert_one({'_id': 3}, session=session)
        self.assertEqual([d['_id'] for d in self.c.aggregate([{'$sort': {'_id': 1}}], session=session)], [1, 2, 3])
        session.commit_transaction()
        self.assertEqual(list(self.c.find()), [{'_id': 1, 'n': 2}, {'_id': 3}])
        session = self.session(read_concern=AtTime(when))
        self.assertEqual(self.c.find_one({'_id': 2}, session=session), {'_id': 2, 'n': 0})
        self.fails(112, 'WriteConflict', TRANSIENT, self.c.update_one, {'_id': 2}, {'$set': {'n': 5}}, session=session)
        session = self.session(read_concern=AtTime(bson.Timestamp(1_000_000_000, 1)))
        self.fails(239, 'SnapshotTooOld', TRANSIENT, self.c.find_one, session=session)
        session = self.session(read_concern=AtTime(bson.Timestamp(2 ** 32 - 1, 1)))
        self.fails(72, 'InvalidOptions', [], self.c.find_one, session=session)

    def test_the_window(self):
        self.addCleanup(self.client.admin.command, {'setParameter': 1, 'minSnapshotHistoryWindowInSeconds': 300})
        self.client.admin.command({'setParameter': 1, 'minSnapshotHistoryWindowInSeconds': 2})
        self.c.insert_many([{'_id': n} for n in range(10)])
        session = self.snapshot_session()
        cursor = self.c.find({}, batch_size=2, session=session)
        next(cursor)
        began = time.monotonic()
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            while time.monotonic() < began + 30:
                self.c.update_one({'_id': 1}, {'$inc': {'n': 1}})
                self.assertIsNotNone(self.c.find_one({'_id': 3}, session=session))
                time.sleep(0.05)
        self.assertEqual(caught.exception.code, 239)
        self.assertGreaterEqual(time.monotonic() - began, 2)
        self.fails(239, 'SnapshotTooOld', [], lambda: list(cursor))
        self.assertIsNotNone(self.c.find_one({'_id': 3}, session=self.snapshot_session()))


class OrderedFromTheStartTest(Case):
    arguments = REPLICA_SET + ['--setParameter', 'minSnapshotHistoryWindowInSeconds=60']

    def test_the_past_is_kept_before_anybody_reads_it(self):
        deadline = time.monotonic() + 10
        while True:  # keeping it takes a moment to begin
            self.c.delete_many({})
            with self.client.start_session() as session:
                self.c.insert_one({'_id': 1}, session=session)
                when = session.operation_time
            self.c.insert_one({'_id': 2})
            try:
                reply = self.db.command({'find': 'c', 'readConcern': {'level': 'snapshot', 'atClusterTime': when}})
                break
            except pymongo.errors.OperationFailure as error:
                self.assertEqual(error.code, 239)
                self.assertLess(time.monotonic(), deadline)
        self.assertEqual((reply['cursor']['firstBatch'], reply['cursor']['atClusterTime']), ([{'_id': 1}], when))


class RestartTest(Case):
    """What a snapshot needs is not on the disk."""
    arguments = OrderedFromTheStartTest.arguments

    def test_the_past_ends_with_the_server(self):
        for stop in (self.server.stop, self.server.kill):
            self.c.with_options(write_concern=pymongo.WriteConcern(j=True)).insert_one({'n': 1})
            session = self.client.start_session(snapshot=True)
            seen = self.c.count_documents({}, session=session)
            self.c.with_options(write_concern=pymongo.WriteConcern(j=True)).insert_one({'n': 2})
            self.assertEqual(self.c.count_documents({}, session=session), seen)
            stop()
            self.server.start()
            self.fails(239, 'SnapshotTooOld', [], self.c.count_documents, {}, session=session)
            self.assertEqual(self.c.count_documents({}, session=self.client.start_session(snapshot=True)), seen + 1)


class MemoryTest(Case):
    """A cursor that nobody reads on, and writers: the server keeps its ceiling, and the cursor ends."""
    arguments = REPLICA_SET + ['--memoryLimitGB', str(attacks.CEILING)]

    def test_an_idle_cursor_does_not_fill_the_server(self):
        self.client.attack.one.insert_one({'_id': 1})  # the bystander's
        self.c.insert_many([{'_id': n, 'padding': 'x' * 10_000} for n in range(1000)])
        cursor = self.c.find({}, {'_id': 1}, batch_size=10, session=self.client.start_session(snapshot=True))
        next(cursor)
        with attacks.Bystander(self.server) as bystander:
            began = time.monotonic()
            while time.monotonic() < began + 15:
                # Inserted and deleted again: old versions of much data, and little of it in the log.
                self.db.d.insert_many([{'padding': 'y' * 100_000} for _ in range(100)])
                self.db.d.delete_many({})
                self.c.update_many({'_id': {'$lt': 100}}, {'$inc': {'n': 1}})
        self.assertIsNone(bystander.problem)
        print('at most %d MB' % (bystander.peak >> 20))
        self.assertLessEqual(bystander.peak, attacks.RESIDENT_MAX)
        self.fails(239, 'SnapshotTooOld', [], lambda: list(cursor))
        self.assertEqual(self.c.count_documents({}), 1000)


class StandaloneTest(Case):
    def test_a_standalone_has_no_snapshot_reads(self):
        with self.client.start_session(snapshot=True) as session:
            for read in (lambda: self.c.find_one(session=session), lambda: list(self.c.aggregate([], session=session)),
                         lambda: self.c.distinct('a', session=session)):
                self.fails(123, 'NotAReplicaSet', [], read)


if __name__ == '__main__':
    unittest.main()

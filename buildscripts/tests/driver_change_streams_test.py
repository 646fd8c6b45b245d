# SPDX-License-Identifier: Apache-2.0
"""Change streams through pymongo: what they show, where they resume, how they end; and that their events, replayed,
give the same collections, also when the server is killed in between."""
import concurrent.futures
import os
import random
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import change_mirror  # noqa: E402
import harness  # noqa: E402

pymongo = bson = None
IMAGES = {'changeStreamPreAndPostImages': {'enabled': True}}


def taken(stream, count):
    return [next(stream) for _ in range(count)]


def kinds(events):
    return [event['operationType'] for event in events]


class ChangeStreamCase(unittest.TestCase):
    arguments = []

    @classmethod
    def setUpClass(cls):
        global pymongo, bson
        pymongo = harness.import_pymongo()
        import bson as of_pymongo
        bson = of_pymongo
        cls.server = harness.Server(arguments=cls.arguments).start()
        cls.addClassCleanup(cls.server.__exit__)

    def setUp(self):
        self.client = self.connect()
        self.client.drop_database('t')
        self.db = self.client.t

    def connect(self, **options):
        client = self.server.client(directConnection=True, **options)
        self.addCleanup(client.close)
        return client

    def fails(self, code, call):
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            call()
        self.assertEqual(caught.exception.code, code, caught.exception)
        return str(caught.exception)


class ManyStreamsTest(ChangeStreamCase):
    def test_each_of_many_streams_sees_its_own_events_in_order(self):
        seed = harness.seed()
        chance = random.Random(seed)
        names = ['c%d' % i for i in range(12)]
        for name in names:
            self.db.create_collection(name)
        client = self.connect(maxPoolSize=200)
        client.t.command('ping')
        # (collection, None: the whole database; parity of the documents, None: all).
        watched = [(name, parity) for name in names for parity in (None, 0, 1)] + [(None, None), (None, 0), (None, 1)] * 2
        seen = [[] for _ in watched]
        opened = threading.Barrier(len(watched) + 1)

        def follow(number):
            name, parity = watched[number]
            place = client.t if name is None else client.t[name]
            end = (name or names[-1], 'end %d' % (1 if parity is None else parity))
            match = [] if parity is None else [{'$match': {'fullDocument.parity': parity}}]
            # Short waits: streams are woken, or find nothing and go on from where all had been read.
            with place.watch(match, max_await_time_ms=chance.choice((5, 50, 1000)), batch_size=3) as stream:
                opened.wait()
                for event in stream:
                    seen[number].append((event['ns']['coll'], event['documentKey']['_id']))
                    if seen[number][-1] == end:
                        return

        written = []

        def insert(name, key, parity, session=None):
            self.db[name].insert_one({'_id': key, 'parity': parity}, session=session)
            written.append((name, key, parity))

        with concurrent.futures.ThreadPoolExecutor(len(watched)) as pool:
            followers = [pool.submit(follow, number) for number in range(len(watched))]
            opened.wait()
            for number in range(600):
                if chance.random() < 0.2:
                    with self.client.start_session() as session, session.start_transaction():
                        for name in chance.sample(names, 2):
                            insert(name, number, number % 2, session)
                else:
                    insert(chance.choice(names[:3] if number % 50 else names), number, number % 2)
            for name in names:
                for parity in (0, 1):
                    insert(name, 'end %d' % parity, parity)
            for follower in followers:
                follower.result(timeout=60)
        for (name, parity), events in zip(watched, seen):
            expected = [one[:2] for one in written if name in (None, one[0]) and parity in (None, one[2])]
            self.assertEqual(events, expected, 'FRESHET_SEED=%d' % seed)


class ChangeStreamTest(ChangeStreamCase):
    def test_documents(self):
        with self.db.c.watch() as stream:
            self.db.c.insert_one({'_id': 1, 'a': {'b': 1, 'c': 2}, 'l': [1, 2, 3]})
            self.db.c.update_one({'_id': 1}, {'$set': {'a.b': 5, 'n': None}, '$unset': {'a.c': 1}, '$pop': {'l': 1}})
            self.db.c.update_one({'_id': 1}, {'$set': {'n': None}})  # changes nothing
            self.db.c.replace_one({'_id': 1}, {'z': 1})
            self.db.c.update_one({'_id': 2}, [{'$set': {'p': 1}}], upsert=True)
            self.db.c.find_one_and_update({'_id': 2}, {'$inc': {'p': 1}})
            self.db.c.delete_many({})
            insert, update, replace, upsert, increment, *deletes = taken(stream, 7)
        self.assertEqual(insert['operationType'], 'insert')
        self.assertEqual(insert['ns'], {'db': 't', 'coll': 'c'})
        self.assertEqual(insert['documentKey'], {'_id': 1})
        self.assertEqual(insert['fullDocument'], {'_id': 1, 'a': {'b': 1, 'c': 2}, 'l': [1, 2, 3]})
        self.assertNotIn('collectionUUID', insert)
        self.assertEqual(update['updateDescription'], {'updatedFields': {'a.b': 5, 'n': None}, 'removedFields': ['a.c'],
                                                       'truncatedArrays': [{'field': 'l', 'newSize': 2}]})
        self.assertNotIn('fullDocument', update)
        self.assertEqual(replace['fullDocument'], {'_id': 1, 'z': 1})
        self.assertEqual((replace['operationType'], upsert['operationType']), ('replace', 'insert'))
        self.assertEqual(increment['updateDescription']['updatedFields'], {'p': 2})
        self.assertEqual([delete['documentKey'] for delete in deletes], [{'_id': 1}, {'_id': 2}])
        times = [event['clusterTime'] for event in (insert, update, replace, upsert, increment, *deletes)]
        self.assertEqual(times, sorted(set(times)))

    def test_places(self):
        self.client.drop_database('u')
        with self.db.c.watch() as one, self.db.watch() as database, self.client.watch() as all_of_them:
            self.db.c.insert_one({'_id': 'c'})
            self.db.d.insert_one({'_id': 'd'})
            self.client.u.c.insert_one({'_id': 'u'})
            self.client.config.mine.insert_one({'_id': 'hidden'})
            self.client.admin.mine.insert_one({'_id': 'hidden'})
            self.db.c.insert_one({'_id': 'last'})
            seen = [[event['documentKey']['_id'] for event in taken(stream, count)]
                    for stream, count in ((one, 2), (database, 3), (all_of_them, 4))]
            self.assertEqual(seen, [['c', 'last'], ['c', 'd', 'last'], ['c', 'd', 'u', 'last']])
            for stream in (one, database, all_of_them):
                self.assertIsNone(stream.try_next())

    def test_definitions(self):
        with self.db.watch() as plain, self.db.watch(show_expanded_events=True) as expanded:
            self.db.create_collection('c', validator={'a': {'$exists': True}})
            self.db.c.create_index('a', name='by_a')
            self.db.c.drop_index('by_a')
            self.db.command('collMod', 'c', validator={})
            self.db.c.rename('d')
            self.db.d.drop()
            self.client.drop_database('t')
            self.assertEqual(kinds(taken(plain, 2)), ['rename', 'drop'])
            events = taken(expanded, 6)
        self.assertEqual(kinds(events), ['create', 'createIndexes', 'dropIndexes', 'modify', 'rename', 'drop'])
        self.assertEqual(len({event['collectionUUID'] for event in events}), 1)
        self.assertEqual(events[0]['operationDescription']['validator'], {'a': {'$exists': True}})
        self.assertEqual(events[1]['operationDescription']['indexes'][0]['name'], 'by_a')
        self.assertEqual(events[4]['to'], {'db': 't', 'coll': 'd'})

    def test_the_end_of_what_is_watched(self):
        for end, last in ((lambda: self.db.c.drop(), 'drop'), (lambda: self.db.c.rename('d'), 'rename'),
                          (lambda: self.client.drop_database('t'), 'drop')):
            self.db.d.drop()
            with self.db.c.watch() as stream:
                self.db.c.insert_one({})
                end()
                events = taken(stream, 3)
                self.assertEqual(kinds(events), ['insert', last, 'invalidate'])
                self.assertFalse(stream.alive)
            self.db.c.insert_one({'_id': 'after'})
            self.fails(260, lambda token=events[-1]['_id']: self.db.c.watch(resume_after=token))
            with self.db.c.watch(start_after=events[-1]['_id']) as stream:
                self.assertEqual(next(stream)['documentKey'], {'_id': 'after'})
        with self.db.watch() as stream:
            self.client.drop_database('t')
            while (event := next(stream))['operationType'] == 'drop':
                pass
            self.assertEqual(event['operationType'], 'dropDatabase')
            self.assertEqual(next(stream)['operationType'], 'invalidate')

    def test_a_collection_that_takes_the_name(self):
        self.db.other.insert_one({})
        with self.db.c.watch() as stream:
            self.db.other.rename('c')
            self.assertEqual(kinds(taken(stream, 2)), ['rename', 'invalidate'])

    def test_images(self):
        self.db.create_collection('kept', **IMAGES)
        self.db.create_collection('not')
        with self.db.kept.watch(full_document='required', full_document_before_change='required') as stream:
            self.db.kept.insert_one({'_id': 1, 'n': 0})
            for _ in range(2):
                self.db.kept.update_one({'_id': 1}, {'$inc': {'n': 1}})
            self.db.kept.replace_one({'_id': 1}, {'r': 1})
            self.db.kept.delete_one({'_id': 1})
            events = taken(stream, 5)
        self.assertNotIn('fullDocumentBeforeChange', events[0])
        self.assertEqual([(event['fullDocumentBeforeChange'], event.get('fullDocument')) for event in events[1:]],
                         [({'_id': 1, 'n': 0}, {'_id': 1, 'n': 1}), ({'_id': 1, 'n': 1}, {'_id': 1, 'n': 2}),
                          ({'_id': 1, 'n': 2}, {'_id': 1, 'r': 1}), ({'_id': 1, 'r': 1}, None)])
        with self.db['not'].watch(full_document='whenAvailable', full_document_before_change='whenAvailable') as stream:
            self.db['not'].insert_one({'_id': 1})
            self.db['not'].update_one({'_id': 1}, {'$set': {'a': 1}})
            update = taken(stream, 2)[1]
            self.assertEqual((update['fullDocument'], update['fullDocumentBeforeChange']), (None, None))
        for wanted in ({'full_document': 'required'}, {'full_document_before_change': 'required'}):
            with self.db['not'].watch(**wanted) as stream:
                self.db['not'].update_one({'_id': 1}, {'$inc': {'a': 1}})
                self.fails(47, stream.next)
        self.db.command('collMod', 'not', changeStreamPreAndPostImages={'enabled': True})
        with self.db['not'].watch(full_document_before_change='required') as stream:
            self.db['not'].update_one({'_id': 1}, {'$set': {'a': 'x'}})
            self.assertEqual(next(stream)['fullDocumentBeforeChange'], {'_id': 1, 'a': 3})
        self.assertEqual(self.db['not'].options(), IMAGES)

    def test_looked_up_documents_are_those_of_now(self):
        with self.db.c.watch(full_document='updateLookup') as stream:
            self.db.c.insert_one({'_id': 1})
            self.db.c.update_one({'_id': 1}, {'$set': {'a': 1}})
            self.db.c.update_one({'_id': 1}, {'$set': {'b': 1}})
            self.assertEqual(taken(stream, 2)[1]['fullDocument'], {'_id': 1, 'a': 1, 'b': 1})
        with self.db.c.watch(full_document='updateLookup') as stream:
            self.db.c.update_one({'_id': 1}, {'$set': {'c': 1}})
            self.db.c.delete_one({'_id': 1})
            self.assertIsNone(next(stream)['fullDocument'])

    def test_pipelines(self):
        with self.db.c.watch([{'$match': {'fullDocument.n': {'$gt': 1}}}, {'$project': {'fullDocument.n': 1}}]) as stream:
            self.db.c.insert_many([{'n': n} for n in range(4)])
            self.assertEqual([event['fullDocument'] for event in taken(stream, 2)], [{'n': 2}, {'n': 3}])
        self.fails(20, lambda: self.db.c.watch([{'$group': {'_id': 1}}]))
        self.fails(20, lambda: self.db.c.watch([{'$out': 'x'}]))
        self.fails(40602, lambda: self.db.c.aggregate([{'$match': {}}, {'$changeStream': {}}]))
        with self.db.c.watch([{'$project': {'_id': 0}}]) as stream:
            self.db.c.insert_one({})
            with self.assertRaises(pymongo.errors.PyMongoError) as caught:
                next(stream)
            self.assertIn('resume token', str(caught.exception))

    def test_resuming_from_anywhere(self):
        with self.db.c.watch() as stream:
            start = stream.resume_token
            self.db.c.insert_many([{'_id': i} for i in range(10)])
            self.db.c.update_many({}, {'$set': {'a': 1}})
            with self.client.start_session() as session, session.start_transaction():
                self.db.c.delete_many({'_id': {'$lt': 5}}, session=session)
            events = taken(stream, 25)
        tokens = [event['_id']['_data'] for event in events]
        self.assertEqual(tokens, sorted(set(tokens)))
        for option in ('resume_after', 'start_after'):
            with self.db.c.watch(**{option: start}) as stream:
                self.assertEqual(taken(stream, 25), events)
            for i in range(0, 24, 3):
                with self.db.c.watch(**{option: events[i]['_id']}) as stream:
                    self.assertEqual(next(stream), events[i + 1])
        with self.db.c.watch(start_at_operation_time=events[12]['clusterTime']) as stream:
            self.assertEqual(next(stream), events[12])
        # Before anything was read, the token is where the stream begins.
        begun = self.db.command({'aggregate': 'c', 'cursor': {'batchSize': 0},
                                 'pipeline': [{'$changeStream': {'startAtOperationTime': events[12]['clusterTime']}}]})
        with self.db.c.watch(resume_after=begun['cursor']['postBatchResumeToken']) as stream:
            self.assertEqual(next(stream), events[12])
        both = {'resumeAfter': start, 'startAtOperationTime': events[0]['clusterTime']}
        self.fails(40674, lambda: self.db.c.aggregate([{'$changeStream': both}]))

    def test_a_stream_without_events_moves_on(self):
        with self.db.c.watch() as stream:
            before = stream.resume_token
            self.db.other.insert_many([{} for _ in range(100)])
            self.client.admin.command('fsync')
            while stream.resume_token['_data'] == before['_data']:
                self.assertIsNone(stream.try_next())
            self.assertGreater(stream.resume_token['_data'], before['_data'])
            later = stream.resume_token
        self.db.c.insert_one({'_id': 'next'})
        with self.db.c.watch(resume_after=later) as stream:
            self.assertEqual(next(stream)['documentKey'], {'_id': 'next'})

    def test_tokens_that_are_none(self):
        good = self.db.c.watch().resume_token['_data']
        for token in ({}, {'_data': ''}, {'_data': 'xyz'}, {'_data': good[:-2]}, {'_data': good[:-1] + ('0' if good[-1] != '0' else '1')},
                      {'_data': 5}, {'other': good}, {'_data': '8' + good[1:]}):
            with self.assertRaises(pymongo.errors.OperationFailure, msg=token):
                self.db.c.watch(resume_after=token)

    def test_transactions(self):
        self.db.c.insert_one({'_id': 0})
        with self.db.watch() as stream, self.client.start_session() as session:
            with session.start_transaction():
                self.db.c.insert_one({'_id': 1}, session=session)
                self.db.d.insert_one({'_id': 2}, session=session)
                self.db.c.update_one({'_id': 0}, {'$set': {'a': 1}}, session=session)
                self.db.alone.insert_one({'_id': 'between'})
            session.start_transaction()
            self.db.c.insert_one({'_id': 'aborted'}, session=session)
            session.abort_transaction()
            self.db.alone.insert_one({'_id': 'last'})
            events = taken(stream, 5)
            self.assertEqual([event['documentKey']['_id'] for event in events], ['between', 1, 2, 0, 'last'])
            self.assertEqual({event.get('txnNumber') for event in events[1:4]}, {events[1]['txnNumber']})
            self.assertEqual(events[1]['lsid']['id'], session.session_id['id'])
            self.assertEqual({event['clusterTime'] for event in events[1:4]}, {events[1]['clusterTime']})
            self.assertNotIn('lsid', events[0])

    def test_a_transaction_larger_than_a_record(self):
        pad = 'p' * (4 << 20)
        with self.db.c.watch([{'$unset': 'fullDocument.pad'}]) as stream, self.client.start_session() as session:
            with session.start_transaction():
                for i in range(20):
                    self.db.c.insert_one({'_id': i, 'pad': pad}, session=session)
            events = taken(stream, 20)
            self.assertEqual([event['fullDocument'] for event in events], [{'_id': i} for i in range(20)])
        with self.db.c.watch([{'$unset': 'fullDocument.pad'}], resume_after=events[9]['_id']) as stream:
            self.assertEqual(taken(stream, 10), events[10:])

    def test_an_event_larger_than_a_document(self):
        self.db.create_collection('c', **IMAGES)
        self.db.c.insert_one({'_id': 1, 'pad': 'a' * (9 << 20)})
        start = self.db.c.watch().resume_token
        self.db.c.update_one({'_id': 1}, {'$set': {'pad': 'b' * (9 << 20)}})
        options = {'full_document_before_change': 'required', 'full_document': 'required', 'resume_after': start}
        self.fails(10334, lambda: next(self.db.c.watch(**options)))
        split = [{'$changeStreamSplitLargeEvent': {}}]
        with self.db.c.watch(split, **options) as stream:
            first = next(stream)
            parts = [first] + taken(stream, first['splitEvent']['of'] - 1)
        self.assertGreater(len(parts), 1)
        self.assertEqual([part['splitEvent']['fragment'] for part in parts], list(range(1, len(parts) + 1)))
        whole = {name: value for part in parts for name, value in part.items()}
        self.assertEqual((whole['fullDocument']['pad'][0], whole['fullDocumentBeforeChange']['pad'][0]), ('b', 'a'))
        options['resume_after'] = first['_id']
        with self.db.c.watch(split, **options) as stream:
            self.assertEqual(taken(stream, len(parts) - 1), parts[1:])

    def test_waiting_asks_once(self):
        """A getMore that waits is answered by the event, not by its own time."""
        asked = []

        class Listener(pymongo.monitoring.CommandListener):
            def started(self, event):
                if event.command_name == 'getMore':
                    asked.append(event.command)

            def succeeded(self, event):
                pass

            failed = succeeded

        watching = self.connect(event_listeners=[Listener()])
        with watching.t.c.watch(max_await_time_ms=600_000) as stream:
            found = []
            waiter = threading.Thread(target=lambda: found.append(next(stream)))
            waiter.start()
            while not [op for op in self.client.admin.aggregate([{'$currentOp': {}}]) if 'getMore' in op.get('command', {})]:
                pass
            self.db.c.insert_one({'_id': 1})
            waiter.join(120)
            self.assertEqual(found[0]['documentKey'], {'_id': 1})
            self.assertEqual(len(asked), 1)
            self.assertEqual(asked[0]['maxTimeMS'], 600_000)

    def test_an_empty_batch_comes_when_the_time_is_over(self):
        cursor = self.db.command({'aggregate': 'c', 'pipeline': [{'$changeStream': {}}], 'cursor': {}})['cursor']
        self.assertEqual(cursor['firstBatch'], [])
        more = self.db.command({'getMore': bson.int64.Int64(cursor['id']), 'collection': 'c', 'maxTimeMS': 1})['cursor']
        self.assertEqual((more['nextBatch'], more['id']), ([], cursor['id']))
        self.assertIn('_data', more['postBatchResumeToken'])

    def test_where_none_can_be(self):
        self.fails(72, lambda: self.client.t.c.with_options(
            read_concern=pymongo.read_concern.ReadConcern('local')).watch())
        for db in ('admin', 'config', 'local'):
            with self.assertRaises(pymongo.errors.OperationFailure, msg=db):
                self.client[db].c.watch()
        with self.client.start_session() as session:
            session.start_transaction()
            self.fails(263, lambda: self.db.c.aggregate([{'$changeStream': {}}], session=session))


class ReplicaSetChangeStreamTest(ChangeStreamTest):
    arguments = ['--replSet', 'rs0']


class EndTest(ChangeStreamCase):
    """Of the server, and of the log's memory."""

    def setUp(self):
        self.server = harness.Server(arguments=['--syncdelay', '1', '--oplogSize', '1']).start()
        self.addCleanup(self.server.__exit__)
        super().setUp()

    def restart(self):
        self.server.start()
        self.client = self.connect()
        self.db = self.client.t

    def test_the_server_stops_while_a_stream_waits(self):
        stream = self.connect(serverSelectionTimeoutMS=1000).t.c.watch(max_await_time_ms=600_000)
        waiter = threading.Thread(target=self.ignoring_errors(stream.next))
        waiter.start()
        while not [op for op in self.client.admin.aggregate([{'$currentOp': {}}]) if 'getMore' in op.get('command', {})]:
            pass
        self.client.close()
        self.assertEqual(self.server.stop(), 0)
        waiter.join(120)

    @staticmethod
    def ignoring_errors(call):
        def run():
            try:
                call()
            except pymongo.errors.PyMongoError:
                pass
        return run

    def test_resuming_after_a_restart_and_after_a_kill(self):
        with self.db.c.watch() as stream:
            self.db.c.insert_many([{'_id': i} for i in range(4)])
            token = taken(stream, 2)[1]['_id']
        self.assertEqual(self.server.stop(), 0)
        self.restart()
        with self.db.c.watch(resume_after=token) as stream:
            self.assertEqual([event['documentKey']['_id'] for event in taken(stream, 2)], [2, 3])
            self.db.c.with_options(write_concern=pymongo.WriteConcern(j=True)).insert_one({'_id': 4})
        self.server.kill()
        self.restart()
        with self.db.c.watch(resume_after=token) as stream:
            self.assertEqual([event['documentKey']['_id'] for event in taken(stream, 3)], [2, 3, 4])
            self.assertIsNone(stream.try_next())

    def test_a_place_that_the_log_no_longer_has(self):
        with self.db.c.watch() as stream:
            self.db.c.insert_one({'_id': 'first'})
            event = next(stream)
        for _ in range(200):
            self.db.c.insert_many([{'pad': 'p' * 100_000} for _ in range(40)])
            self.client.admin.command('fsync')
            try:
                with self.db.c.watch([{'$project': {'documentKey': 1}}], resume_after=event['_id']) as stream:
                    next(stream)
            except pymongo.errors.OperationFailure as lost:
                self.assertEqual(lost.code, 286, lost)
                self.assertIn('Resume of change stream was not possible', str(lost))
                break
        else:
            self.fail('the log keeps more than it should')
        self.fails(286, lambda: next(self.db.c.watch(start_at_operation_time=event['clusterTime'])))


class ReplayTest(ChangeStreamCase):
    """Events, replayed, give the same collections."""
    names = ('a', 'b', 'c')

    def test_the_events_tell_everything(self):
        chance = random.Random(harness.seed())
        mirror, token = change_mirror.Mirror(), self.client.watch().resume_token
        for _ in range(4):
            self.change(chance)
            self.server.kill()
            self.server.start()
            self.client = self.connect()
            self.db = self.client.t
            token = self.replay(mirror, token)
            self.assertIsNone(mirror.difference({('t', name): list(self.db[name].find()) for name in self.db.list_collection_names()}))

    def change(self, chance):
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(self.change_alone, random.Random(chance.random())) for _ in range(4)]:
                done.result()

    def change_alone(self, chance):
        durable = pymongo.WriteConcern(j=True)
        for _ in range(60):
            collection = self.db.get_collection(chance.choice(self.names), write_concern=durable)
            key = {'_id': chance.randrange(20)}
            kind = chance.randrange(9)
            try:
                if kind < 3:
                    collection.update_one(key, {'$set': {chance.choice('xyz'): 'v' * chance.randrange(50)},
                                                '$push': {'l': chance.randrange(9)}}, upsert=True)
                elif kind == 3:
                    collection.update_many({}, {'$pop': {'l': 1}, '$unset': {chance.choice('xyz'): 1}})
                elif kind == 4:
                    collection.replace_one(key, {'r': chance.random()}, upsert=True)
                elif kind == 5:
                    collection.delete_many({'_id': {'$gt': chance.randrange(20)}})
                elif kind == 6:
                    with self.client.start_session() as session, session.start_transaction(write_concern=durable):
                        for name in self.names:
                            self.db[name].update_one(key, {'$inc': {'n': 1}}, upsert=True, session=session)
                        self.db[self.names[0]].delete_one({'_id': chance.randrange(20)}, session=session)
                elif chance.random() < 0.2:
                    self.db.drop_collection(collection.name)
                elif chance.random() < 0.2:
                    collection.rename(chance.choice(self.names), dropTarget=True)
            except pymongo.errors.PyMongoError as refused:
                if getattr(refused, 'code', None) not in (11000, 112, 246, 26, 20, 48, 251, 175):
                    raise

    def replay(self, mirror, token):
        end = self.client.admin.command('fsync') and self.db.command('insert', 'end', documents=[{}], writeConcern={'j': True})
        self.assertEqual(end['ok'], 1)
        with self.client.watch(resume_after=token, show_expanded_events=True) as stream:
            for event in stream:
                mirror.apply(event)
                if event['ns'].get('coll') == 'end' and event['operationType'] == 'insert':
                    return event['_id']


del ChangeStreamCase
if __name__ == '__main__':
    unittest.main()

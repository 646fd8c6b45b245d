# SPDX-License-Identifier: Apache-2.0
"""The replica set of one as a driver meets it: found under the name that was dialled, and its writes sent again when connections
break, done once each."""
import os
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import certificates  # noqa: E402
import harness  # noqa: E402
import raw_bson  # noqa: E402

pymongo = None
SECONDS = 120  # that nothing takes


class ReplicaSetTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        global pymongo, bson
        pymongo = harness.import_pymongo()
        import bson as of_pymongo
        bson = of_pymongo

    def setUp(self):
        self.server = harness.Server(arguments=['--replSet', 'rs0', '--setParameter', 'enableTestCommands=1']).start()
        self.addCleanup(self.server.__exit__)

    def client(self, host='127.0.0.1', **options):
        client = pymongo.MongoClient('mongodb://%s:%d/?replicaSet=rs0' % (host, self.server.port), **options)
        self.addCleanup(client.close)
        return client

    def break_connection(self, client, command):
        """The next such command is answered by an end of the connection."""
        client.admin.command({'configureFailPoint': 'failCommand', 'mode': {'times': 1},
                              'data': {'failCommands': [command], 'closeConnection': True}})

    def test_the_set_is_found_under_each_address(self):
        for host in ('127.0.0.1', 'localhost'):
            client = self.client(host)
            client.admin.command('ping')
            self.assertEqual(client.primary[1], self.server.port)
            self.assertEqual(client.topology_description.topology_type_name, 'ReplicaSetWithPrimary')
            self.assertEqual(client.admin.command('replSetGetStatus')['members'][0]['stateStr'], 'PRIMARY')

    def test_with_tls_the_set_is_found_under_the_name_that_was_called(self):
        directory = tempfile.TemporaryDirectory(prefix='freshet-tls-')
        self.addCleanup(directory.cleanup)
        certificates.make(directory.name)
        # preferTLS: the harness's own ping is plain.
        arguments = ['--replSet', 'rs0', '--tlsMode', 'preferTLS', '--tlsCertificateKeyFile', os.path.join(directory.name, 'server.pem')]
        with harness.Server(arguments=arguments) as server:
            for host in ('localhost', '127.0.0.1'):
                with pymongo.MongoClient('mongodb://%s:%d/?replicaSet=rs0' % (host, server.port), tls=True,
                                         tlsCAFile=os.path.join(directory.name, 'ca.pem')) as client:
                    client.test.c.insert_one({})
                    self.assertEqual(client.primary, (host, server.port))

    def test_another_name_is_refused_by_the_driver(self):
        client = pymongo.MongoClient('127.0.0.1', self.server.port, replicaSet='other', serverSelectionTimeoutMS=500)
        self.addCleanup(client.close)
        with self.assertRaises(pymongo.errors.ServerSelectionTimeoutError):
            client.admin.command('ping')

    def test_writes_are_sent_again_when_the_connection_breaks(self):
        c = self.client().test.c
        self.break_connection(c.database.client, 'insert')
        c.insert_one({'_id': 1, 'n': 0})
        self.break_connection(c.database.client, 'update')
        self.assertEqual(c.update_one({'_id': 1}, {'$inc': {'n': 1}}).modified_count, 1)
        self.break_connection(c.database.client, 'findAndModify')
        self.assertEqual(c.find_one_and_update({'_id': 1}, {'$inc': {'n': 1}}), {'_id': 1, 'n': 1})
        self.assertEqual(c.find_one(), {'_id': 1, 'n': 2})

    def test_without_retries_the_error_is_seen(self):
        c = self.client(retryWrites=False).test.c
        self.break_connection(c.database.client, 'insert')
        with self.assertRaises(pymongo.errors.AutoReconnect):
            c.insert_one({})

    def test_a_monitor_learns_at_once_that_the_member_stepped_down(self):
        client = self.client(heartbeatFrequencyMS=600_000)  # its monitor waits for the stream
        c = client.test.c
        c.insert_many([{'_id': i} for i in range(10)])
        cursor = c.find({}, batch_size=2)
        next(cursor)
        client.admin.command('replSetStepDown', 600, force=True)
        self.assertEqual(len(list(cursor)), 9)
        self.wait_until(lambda: client.primary is None)
        self.assertEqual(client.secondaries, {('127.0.0.1', self.server.port)})
        secondary = client.get_database('test', read_preference=pymongo.ReadPreference.SECONDARY)
        self.assertEqual(secondary.c.find_one({'_id': 3}), {'_id': 3})
        with pymongo.MongoClient('127.0.0.1', self.server.port, directConnection=True) as direct:
            with self.assertRaises(pymongo.errors.NotPrimaryError):
                direct.test.c.insert_one({})
            direct.admin.command('replSetFreeze', 0)
        c.insert_one({'_id': 'again'})
        self.assertEqual(client.primary[1], self.server.port)

    def wait_until(self, is_so):
        end = time.monotonic() + SECONDS
        while not is_so():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_the_set_is_initiated_once(self):
        admin = self.client().admin
        self.assertEqual(admin.command('replSetInitiate', {})['ok'], 1)
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            admin.command('replSetInitiate', {'_id': 'rs0', 'members': [{'_id': 0, 'host': 'elsewhere:1'}]})
        self.assertEqual((caught.exception.code, caught.exception.details['errmsg']), (23, 'already initialized'))

    def test_default_concerns_outlive_the_server(self):
        self.client().admin.command('setDefaultRWConcern', 1, defaultReadConcern={'level': 'majority'}, defaultWriteConcern={'w': 1})
        self.server.kill()
        self.server.start()
        admin = self.client().admin
        found = admin.command('getDefaultRWConcern')
        self.assertEqual((found['defaultReadConcern'], found['defaultWriteConcern']), ({'level': 'majority'}, {'w': 1, 'wtimeout': 0}))

    def test_each_start_is_recorded(self):
        client = self.client()
        (start,) = client.local.startup_log.find()
        self.assertEqual(start['cmdLine']['replication']['replSetName'], 'rs0')
        self.assertEqual(start['buildinfo']['version'], client.server_info()['version'])
        version = client.admin.command('getParameter', 1, featureCompatibilityVersion=1)['featureCompatibilityVersion']
        self.assertEqual(client.admin['system.version'].find_one({'_id': 'featureCompatibilityVersion'}),
                         dict(version, _id='featureCompatibilityVersion'))
        self.assertEqual(client.list_database_names(), ['admin', 'config', 'local'])
        self.server.stop()
        self.server.start()
        self.assertEqual(self.client().local.startup_log.count_documents({}), 2)

    def test_search_indexes_need_a_service_that_is_not_there(self):
        c = self.client().test.c
        for call in (lambda: c.create_search_index({'definition': {'mappings': {'dynamic': True}}}), lambda: c.drop_search_index('x'),
                     lambda: c.update_search_index('x', {}), lambda: list(c.list_search_indexes()),
                     lambda: list(c.aggregate([{'$search': {'text': {'query': 'x', 'path': 's'}}}]))):
            with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                call()
            self.assertEqual((caught.exception.code, caught.exception.details['codeName']), (31082, 'SearchNotEnabled'))

    def test_fail_points_end_the_time_of_a_cursor(self):
        c = self.client().test.c
        c.insert_many([{} for _ in range(10)])
        cursor = c.find(max_time_ms=60_000, batch_size=2)
        next(cursor)
        c.database.client.admin.command('configureFailPoint', 'maxTimeAlwaysTimeOut', mode='alwaysOn')
        with self.assertRaises(pymongo.errors.ExecutionTimeout):
            list(cursor)
        c.database.client.admin.command('configureFailPoint', 'maxTimeAlwaysTimeOut', mode='off')
        self.assertEqual(len(list(c.find(max_time_ms=60_000))), 10)

    def test_a_cluster_time_has_a_form(self):
        now = self.client().test.command('ping')['$clusterTime']
        connection = raw_bson.Connection(self.server.port)
        self.addCleanup(connection.close)
        for sent, code in ((now, 0), ({'clusterTime': now['clusterTime']}, 0), (5, 14), ({'clusterTime': 5}, 14), ({}, 40414)):
            with self.subTest(sent=sent):
                command = {'ping': 1, '$clusterTime': sent, '$db': 'test'}
                answer = bson.decode(connection.ask_bytes(raw_bson.op_msg(bson.encode(command))))
                self.assertEqual(answer.get('code', 0), code, answer)

    def test_a_causal_session_reads_what_it_wrote(self):
        client = self.client()
        with client.start_session(causal_consistency=True) as session:
            client.test.c.insert_one({'_id': 1}, session=session)
            self.assertIsNotNone(session.operation_time)
            self.assertEqual(client.test.c.find_one({}, session=session), {'_id': 1})

    def test_the_time_of_a_causal_session_moves_on(self):
        """With reads by _id and with errors too. The first read of a session has no time to ask for, so its reply is prepared."""
        client = self.client()
        client.test.c.insert_one({'_id': 1})
        for _ in range(2):
            with client.start_session(causal_consistency=True) as session:
                self.assertEqual(client.test.c.find_one({'_id': 1}, session=session), {'_id': 1})
                first = session.operation_time
                self.assertIsNotNone(first)
                self.assertIsNotNone(session.cluster_time)
                client.test.d.insert_one({})  # it is the log's time
                with self.assertRaises(pymongo.errors.OperationFailure):
                    client.test.command('find', 'c', filter={'$bogus': 1}, session=session)
                self.assertGreater(session.operation_time, first)

    def test_inserts_go_on_over_restarts(self):
        """A driver whose insert meets the server's orderly end (an error with a label, or a lost connection) sends it again to the
        server that comes back: the application sees no error, and each document is there once."""
        failures, errors = [], []

        class Failures(pymongo.monitoring.CommandListener):
            def started(self, event):
                pass

            def succeeded(self, event):
                pass

            def failed(self, event):
                failures.append(event.failure)

        c = self.client(serverSelectionTimeoutMS=30_000, event_listeners=[Failures()]).test.c
        c.insert_one({})
        done = [0] * 4
        ends = threading.Event()

        def insert(i):
            while not ends.is_set():
                try:
                    c.insert_one({'_id': {'thread': i, 'n': done[i]}})
                    done[i] += 1
                except pymongo.errors.PyMongoError as error:
                    errors.append(error)
                    return

        threads = [threading.Thread(target=insert, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            before, deadline = sum(done), time.monotonic() + SECONDS
            while sum(done) < before + 100 and time.monotonic() < deadline and not errors:
                ends.wait(0.01)
            self.assertEqual(self.server.stop(), 0)
            self.server.start()
        ends.set()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertGreaterEqual(sum(done), 500)
        self.assertEqual(c.count_documents({}), sum(done) + 1)
        for failure in failures:
            self.assertIn('RetryableWriteError', failure.get('errorLabels', ['RetryableWriteError'] if 'code' not in failure else []))

    def test_increments_are_done_once_while_the_server_is_killed(self):
        """Each increment either was acknowledged, or failed with both of its sendings. The driver repeats those in flight at the
        kill against the server that comes back; done twice, the sum would be too high."""
        client = self.client(serverSelectionTimeoutMS=30_000)
        c = client.test.c
        c.insert_many([{'_id': i, 'n': 0} for i in range(4)])
        acknowledged, unknown = [0] * 4, [0] * 4
        ends = threading.Event()

        def add(i):
            while not ends.is_set():
                try:
                    c.update_one({'_id': i}, {'$inc': {'n': 1}})
                    acknowledged[i] += 1
                except pymongo.errors.PyMongoError:
                    unknown[i] += 1

        threads = [threading.Thread(target=add, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            before, deadline = sum(acknowledged), time.monotonic() + SECONDS
            while sum(acknowledged) < before + 100 and time.monotonic() < deadline:
                ends.wait(0.01)
            self.server.kill()
            self.server.start()
        ends.set()
        for thread in threads:
            thread.join()
        self.assertGreaterEqual(sum(acknowledged), 500)
        for document in c.find():
            i = document['_id']
            self.assertGreaterEqual(document['n'], acknowledged[i])
            self.assertLessEqual(document['n'], acknowledged[i] + unknown[i])


if __name__ == '__main__':
    unittest.main()

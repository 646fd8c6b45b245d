# SPDX-License-Identifier: Apache-2.0
"""What an administrator and a driver's own tests do with pymongo: fail points, operations and their end,
parameters, sessions, definitions, numbers."""
import datetime
import os
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

pymongo = None


class AdminTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        global pymongo
        pymongo = harness.import_pymongo()
        cls.server = harness.Server(arguments=['--setParameter', 'enableTestCommands=1']).start()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = cls.server.client()
        cls.addClassCleanup(cls.client.close)
        cls.admin = cls.client.admin

    def setUp(self):
        self.db = self.client['db_' + self._testMethodName[:40]]
        self.c = self.db.c

    def refused(self, code, call):
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            call()
        self.assertEqual(caught.exception.code, code, caught.exception.details)

    def fail(self, mode, **data):
        self.admin.command('configureFailPoint', 'failCommand', mode=mode, data=data)
        self.addCleanup(self.admin.command, 'configureFailPoint', 'failCommand', mode='off')

    def test_a_fail_point_fails_as_often_as_it_is_told(self):
        self.fail({'times': 1}, failCommands=['find'], errorCode=2)
        self.refused(2, lambda: self.c.find_one())
        self.assertIsNone(self.c.find_one())

    def test_of_several_modes_the_first_counts(self):
        self.fail({'skip': 5, 'times': 1}, failCommands=['find'], errorCode=2)
        self.refused(2, lambda: self.c.find_one())
        self.assertIsNone(self.c.find_one())
        self.refused(2, lambda: self.fail({'often': 1}, failCommands=['find'], errorCode=2))
        self.refused(9, lambda: self.fail({}, failCommands=['find'], errorCode=2))

    def test_an_explained_aggregation_has_no_write_concern(self):
        command = {'aggregate': self.c.name, 'pipeline': [{'$out': 'elsewhere'}], 'explain': True, 'writeConcern': {'w': 1}}
        self.refused(9, lambda: self.c.database.command(command))

    def test_a_read_is_tried_again_after_a_closed_connection(self):
        self.fail({'times': 1}, failCommands=['find'], closeConnection=True)
        self.c.insert_one({'_id': 1})
        self.assertEqual(self.c.find_one(), {'_id': 1})

    def test_a_write_concern_may_be_blamed(self):
        self.fail({'times': 1}, failCommands=['insert'], writeConcernError={'code': 64, 'errmsg': 'late'})
        with self.assertRaises(pymongo.errors.WriteConcernError):
            self.c.insert_one({'_id': 1})
        self.assertEqual(self.c.count_documents({}), 1)

    def test_a_blocked_command_meets_its_time_limit(self):
        self.fail({'times': 1}, failCommands=['find'], blockConnection=True, blockTimeMS=60000)
        with self.assertRaises(pymongo.errors.ExecutionTimeout):
            list(self.c.find().max_time_ms(30))

    def test_parameters_are_listed_for_test_suites(self):
        everything = self.admin.command('getParameter', '*')
        self.assertIs(everything['enableTestCommands'], True)
        self.assertIn('failpoint.failCommand', everything)

    def test_an_operation_is_seen_and_killed(self):
        errors = []

        def sleep():
            try:
                self.admin.command('sleep', 1, millis=600000, comment='deep')
            except pymongo.errors.OperationFailure as error:
                errors.append(error.code)
        thread = threading.Thread(target=sleep)
        thread.start()
        found = []
        while not found:
            found = self.admin.command('currentOp', **{'command.comment': 'deep'})['inprog']
        self.assertEqual(found[0]['clientMetadata']['driver']['name'].split('|')[0], 'PyMongo')
        self.admin.command('killOp', op=found[0]['opid'])
        thread.join()
        self.assertEqual(errors, [11601])

    def test_a_session_ends_with_its_cursors(self):
        self.c.insert_many([{'_id': i} for i in range(10)])
        with self.client.start_session() as session:
            cursor = self.c.find(session=session, batch_size=2)
            next(cursor)
            self.admin.command('killSessions', [session.session_id])
            self.refused(43, lambda: list(cursor))

    def test_collections_are_renamed_and_modified(self):
        self.c.insert_one({'_id': 1})
        self.c.create_index('t', expireAfterSeconds=5)
        self.c.rename('d')
        self.assertEqual(self.db.list_collection_names(), ['d'])
        reply = self.db.command('collMod', 'd', index={'keyPattern': {'t': 1}, 'expireAfterSeconds': 9})
        self.assertEqual((reply['expireAfterSeconds_old'], reply['expireAfterSeconds_new']), (5, 9))
        self.refused(13297, lambda: self.client[self.db.name.upper()].create_collection('x'))

    def test_documents_past_their_time_go(self):
        self.c.create_index('t', expireAfterSeconds=0)
        self.c.insert_many([{'_id': 1, 't': datetime.datetime(2020, 1, 1)}, {'_id': 2}])
        self.admin.command('setParameter', 1, ttlMonitorSleepSecs=1)
        self.addCleanup(self.admin.command, 'setParameter', 1, ttlMonitorSleepSecs=60)
        while self.c.count_documents({}) > 1:
            time.sleep(0.01)
        self.assertEqual(self.c.find_one(), {'_id': 2})

    def test_numbers_are_real(self):
        self.c.insert_many([{'_id': i} for i in range(7)])
        stats = self.db.command('dbStats')
        self.assertEqual((stats['objects'], stats['collections'], stats['dataSize']), (7, 1, 98.0))
        self.assertEqual(self.db.command('collStats', 'c')['count'], 7)
        status = self.admin.command('serverStatus')
        self.assertGreaterEqual(status['metrics']['document']['inserted'], 7)
        self.assertGreaterEqual(status['connections']['current'], 1)
        self.assertEqual(self.admin.command('top')['totals'][self.c.full_name]['insert']['count'], 1)
        self.assertTrue(self.db.validate_collection('c')['valid'])

    def test_the_host_and_the_build_are_told_truly(self):
        system = self.admin.command('hostInfo')['system']
        self.assertEqual(system['numCores'], len(os.sched_getaffinity(0)))
        self.assertEqual(system['memSizeMB'], os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') >> 20)
        build = self.admin.command('buildInfo')
        self.assertEqual((build['allocator'], build['javascriptEngine']), ('jemalloc', 'mozjs'))
        self.assertEqual(self.admin.command('getParameter', 1, authenticationMechanisms=1)['authenticationMechanisms'],
                         ['SCRAM-SHA-1', 'SCRAM-SHA-256'])
        memory = self.admin.command('serverStatus')['mem']
        self.assertGreater(memory['virtual'], memory['resident'])

    def test_an_index_keeps_the_word_background(self):
        self.db.c.create_index('a', background=True)
        self.assertTrue(self.db.c.index_information()['a_1']['background'])
        self.assertEqual(self.db.c.create_index('a'), 'a_1')  # it makes no other index of it

    def test_a_validation_is_full_or_in_the_background(self):
        self.db.c.insert_one({})
        for options in ({'full': True}, {'background': True}, {'full': True, 'background': False}):
            self.assertTrue(self.db.command('validate', 'c', **options)['valid'])
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            self.db.command('validate', 'c', full=True, background=True)
        self.assertEqual(caught.exception.code, 72)

    def test_counts_are_int32_where_they_fit(self):
        """As mongod's: a shell shows an int64 as Long('2')."""
        import bson
        self.c.insert_one({'_id': 1})
        status = self.admin.command('serverStatus')
        plan = self.db.command('explain', {'find': 'c', 'filter': {'_id': {'$gte': 1}}}, verbosity='executionStats')['executionStats']
        sizes, checked = self.db.command('collStats', 'c'), self.db.command('validate', 'c')
        for count in (status['connections']['current'], status['connections']['totalCreated'], status['asserts']['user'],
                      status['wiredTiger']['transaction']['transaction checkpoints'], plan['nReturned'], plan['executionTimeMillis'],
                      plan['executionStages']['works'], sizes['count'], sizes['size'], sizes['indexSizes']['_id_'], checked['nrecords'],
                      checked['keysPerIndex']['_id_'], self.db.command('count', 'c')['n']):
            self.assertIs(type(count), int)
        for count in (status['opcounters']['insert'], status['network']['bytesIn'], status['metrics']['commands']['insert']['total'],
                      self.db.command('dbStats')['objects']):
            self.assertIs(type(count), bson.Int64)

    def test_mongostat_finds_what_it_reads(self):
        status = self.admin.command('serverStatus')
        self.assertEqual(status['wiredTiger']['concurrentTransactions'], {'write': {'out': 0}, 'read': {'out': 0}})
        self.assertEqual(status['globalLock']['activeClients']['readers'], 0)
        for column in ('tracked dirty bytes in the cache', 'bytes currently in the cache', 'maximum bytes configured'):
            self.assertIn(column, status['wiredTiger']['cache'])
        self.assertTrue(status['mem']['supported'])

    def test_an_old_name_is_listed(self):
        commands = self.admin.command('listCommands')['commands']
        self.assertEqual((commands['hello']['aliases'], commands['isMaster']['aliases']), ([], ['ismaster']))

    def test_writers_wait_while_the_server_is_locked(self):
        self.admin.command('fsync', lock=True)
        try:
            self.refused(50, lambda: self.db.command('insert', 'c', documents=[{'_id': 1}], maxTimeMS=30))
        finally:
            self.admin.command('fsyncUnlock')
        self.c.insert_one({'_id': 1})

    def test_an_api_version_may_be_demanded(self):
        self.admin.command('setParameter', 1, requireApiVersion=True)
        try:
            self.refused(498870, lambda: self.admin.command('ping'))
        finally:
            self.admin.command('setParameter', 1, requireApiVersion=False, apiVersion='1')


if __name__ == '__main__':
    unittest.main()

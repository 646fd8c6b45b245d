#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JavaScript in the server as a driver sees it: results, and bombs that end with a clear error while
another connection is served all the time."""
import os
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

pymongo = harness.import_pymongo()
from bson.code import Code  # noqa: E402

CALL_LIMIT = 'internalQueryJavaScriptFnTimeoutMillis'
ENDLESS = 'while (true) {}'
SCRIPT_THREADS = 8  # command/run/script_threads.h
BOMBS = {
    'memory hog': ('var all = []; while (true) { all.push("x".repeat(1000) + all.length); }', 'Out of memory'),
    'deep recursion': ('function f(n) { return f(n + 1) + 1; } return f(0);', 'too much recursion'),
    'huge string': ('var s = "x"; while (true) { s += s; }', None),
    'huge array': ('var all = []; for (var i = 0; ; ++i) { all[i] = i; }', 'Out of memory'),
}


def endless_function():
    return {'$expr': {'$function': {'body': Code('function() { %s }' % ENDLESS), 'args': [], 'lang': 'js'}}}


class JavaScriptTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # One reactor: whatever held it up would hold up everybody.
        cls.server = cls.enterClassContext(harness.Server(arguments=['--reactors', '1']))
        cls.client = cls.server.client()
        cls.other = cls.server.client()
        cls.db = cls.client.test
        cls.db.c.insert_many([{'_id': i, 'n': i, 'tags': ['t%d' % (i % 3), 'all']} for i in range(300)])

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.other.close()

    def refused(self, work, code, text=None):
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            work()
        self.assertEqual(caught.exception.code, code, caught.exception)
        if text:
            self.assertIn(text, str(caught.exception))

    def served(self, work):
        """Runs `work`, which takes a while; another client's operations go through meanwhile."""
        failures = []

        def guarded():
            try:
                work()
            except BaseException as error:  # told in the test's own thread
                failures.append(error)
        thread = threading.Thread(target=guarded)
        thread.start()
        done = 0
        while thread.is_alive():
            self.other.test.d.insert_one({'during': done})
            self.assertEqual(self.other.test.c.find_one({'_id': done % 300})['n'], done % 300)
            done += 1
        thread.join()
        if failures:
            raise failures[0]
        return done

    def set_for_now(self, name, value):
        was = self.client.admin.command({'getParameter': 1, name: 1})[name]
        self.client.admin.command({'setParameter': 1, name: value})
        self.addCleanup(self.client.admin.command, {'setParameter': 1, name: was})

    def running(self):
        """The operation with a script that runs; None: there is none."""
        return next(iter(self.all_running()), None)

    def all_running(self):
        return [one['opid'] for one in self.other.admin.aggregate([{'$currentOp': {}}]) if ENDLESS in str(one['command'])]

    def test_where(self):
        self.assertEqual([d['_id'] for d in self.db.c.find({'$where': 'this.n % 100 == 7'})], [7, 107, 207])
        self.assertEqual(self.db.c.count_documents({'n': {'$lt': 5}}), 5)
        self.assertEqual(self.db.command('count', 'c', query={'$where': Code('function() { return this.n < 5; }')})['n'], 5)
        found = list(self.db.c.find({'$where': 'obj.n >= 0'}).batch_size(50))
        self.assertEqual(len(found), 300)

    def test_function_and_accumulator(self):
        stage = {'$project': {'label': {'$function': {
            'body': 'function(n, tags) { return tags[0] + ":" + n; }', 'args': ['$n', '$tags'], 'lang': 'js'}}}}
        self.assertEqual(list(self.db.c.aggregate([{'$match': {'_id': 4}}, stage])), [{'_id': 4, 'label': 't1:4'}])
        group = {'$group': {'_id': {'$mod': ['$n', 2]}, 'sum': {'$accumulator': {
            'init': 'function() { return 0; }', 'accumulate': 'function(s, n) { return s + n; }',
            'accumulateArgs': ['$n'], 'merge': 'function(a, b) { return a + b; }', 'lang': 'js'}}}}
        sums = {row['_id']: row['sum'] for row in self.db.c.aggregate([group])}
        self.assertEqual(sums, {0: sum(range(0, 300, 2)), 1: sum(range(1, 300, 2))})

    def test_map_reduce(self):
        rows = self.db.command(
            'mapReduce', 'c', map=Code('function() { this.tags.forEach(function(t) { emit(t, 1); }); }'),
            reduce=Code('function(key, values) { return Array.sum(values); }'), out={'inline': 1})['results']
        self.assertEqual({row['_id']: row['value'] for row in rows}, {'t0': 100, 't1': 100, 't2': 100, 'all': 300})

    def test_an_endless_loop_ends_at_its_time_limit(self):
        done = self.served(lambda: self.refused(
            lambda: list(self.db.c.find({'$where': ENDLESS}).max_time_ms(1000)), 50))
        self.assertGreater(done, 0)
        self.served(lambda: self.refused(
            lambda: list(self.db.c.find(endless_function()).max_time_ms(500)), 50))

    def test_an_endless_loop_without_a_time_limit_ends_too(self):
        self.set_for_now(CALL_LIMIT, 1000)
        done = self.served(lambda: self.refused(
            lambda: list(self.db.c.find({'$where': ENDLESS})), 11601, CALL_LIMIT))
        self.assertGreater(done, 0)
        self.served(lambda: self.refused(lambda: self.db.command(
            'mapReduce', 'c', map=ENDLESS, reduce='1', out={'inline': 1}), 11601))

    def test_bombs_end_with_a_clear_error(self):
        for name, (script, text) in BOMBS.items():
            with self.subTest(name):
                self.served(lambda script=script, text=text: self.refused(
                    lambda: list(self.db.c.find({'$where': script})), 139, text))

    def test_kill_op_ends_an_endless_script(self):
        def end():
            while (operation := self.running()) is None:
                time.sleep(0.01)
            self.other.admin.command({'killOp': 1, 'op': operation})
        killer = threading.Thread(target=end)
        killer.start()
        self.refused(lambda: list(self.db.c.find({'$where': ENDLESS})), 11601)
        killer.join()

    def test_who_goes_away_leaves_no_script_behind(self):
        impatient = self.server.client(socketTimeoutMS=500, retryReads=False)
        with self.assertRaises(pymongo.errors.AutoReconnect):
            list(impatient.test.c.find({'$where': ENDLESS}))
        impatient.close()
        deadline = time.monotonic() + 30
        while self.running() is not None:
            self.assertLess(time.monotonic(), deadline, 'the script still runs')
            time.sleep(0.02)

    def test_kill_cursors_ends_a_batch_that_is_being_made(self):
        cursor = self.db.c.find({'$where': 'if (this._id >= 10) { %s } return true;' % ENDLESS}, batch_size=5).sort('_id', 1)
        next(cursor)

        def end():
            while not any(one['op'] == 'getmore' and one['microsecs_running'] > 200_000
                          for one in self.other.admin.aggregate([{'$currentOp': {}}])):
                time.sleep(0.01)
            self.assertEqual(self.other.test.command('killCursors', 'c', cursors=[cursor.cursor_id])['cursorsKilled'], [cursor.cursor_id])
        killer = threading.Thread(target=end)
        killer.start()
        self.refused(lambda: list(cursor), 11601)
        killer.join()

    def test_endless_scripts_do_not_hold_up_a_short_one(self):
        self.set_for_now(CALL_LIMIT, 3_600_000)  # so that it is others' waiting that ends them
        ended = []

        def endless():
            with self.server.client() as client:
                try:
                    list(client.test.c.find({'$where': ENDLESS}))
                except pymongo.errors.OperationFailure as error:
                    ended.append((error.code, 'while other operations were waiting' in str(error)))
        threads = [threading.Thread(target=endless) for _ in range(SCRIPT_THREADS)]
        for thread in threads:
            thread.start()
        while len(self.all_running()) < SCRIPT_THREADS:
            time.sleep(0.02)
        self.assertEqual([d['_id'] for d in self.db.c.find({'$where': 'this.n == 7'})], [7])
        deadline = time.monotonic() + 30
        while not ended:
            self.assertLess(time.monotonic(), deadline, 'nobody was told')
            time.sleep(0.02)
        self.assertEqual(set(ended), {(11601, True)})
        for operation in self.all_running():  # those that nobody had to make room for
            self.other.admin.command({'killOp': 1, 'op': operation})
        for thread in threads:
            thread.join()
        self.assertEqual(len(ended), SCRIPT_THREADS)

    def test_more_scripts_than_threads_all_come_to_their_turn(self):
        failures = []

        def one():
            try:
                self.refused(lambda: list(self.db.c.find({'$where': ENDLESS}).max_time_ms(1500)), 50)
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=one) for _ in range(20)]
        for thread in threads:
            thread.start()
        self.assertEqual(self.other.test.c.find_one({'_id': 1})['n'], 1)
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(len(list(self.db.c.find({'$where': 'this.n < 2'}))), 2)


class JavaScriptOffTest(unittest.TestCase):
    """security.javascriptEnabled, and a server that ends while a script runs."""

    def expect_none(self, server):
        with server.client() as client:
            self.refuse_all(client)

    def refuse_all(self, client):
        client.test.c.insert_one({'_id': 1})
        for work, code in [
                (lambda: list(client.test.c.find({'$where': 'true'})), 6108304),
                (lambda: list(client.test.c.find(endless_function())), 31264),
                (lambda: client.test.command('mapReduce', 'c', map='1', reduce='1', out={'inline': 1}), 31264)]:
            with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                work()
            self.assertEqual(caught.exception.code, code)
        self.assertEqual(list(client.test.c.find()), [{'_id': 1}])

    def test_by_the_command_line(self):
        with harness.Server(arguments=['--noscripting']) as server:
            self.expect_none(server)

    def test_shutdown_does_not_wait_for_a_script(self):
        with harness.Server() as server:
            client = server.client(retryReads=False)
            self.addCleanup(client.close)
            client.test.c.insert_one({'_id': 1})

            def run():
                with self.assertRaises(pymongo.errors.PyMongoError):
                    list(client.test.c.find({'$where': ENDLESS}))
            thread = threading.Thread(target=run)
            thread.start()
            with server.client() as other:
                while not any(ENDLESS in str(one['command']) for one in other.admin.aggregate([{'$currentOp': {}}])):
                    time.sleep(0.01)
            self.assertEqual(server.stop(), 0)
            thread.join()


if __name__ == '__main__':
    unittest.main(verbosity=2)

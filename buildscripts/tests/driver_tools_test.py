# SPDX-License-Identifier: Apache-2.0
"""The database tools: a collection with every common type and its indexes survives mongodump and mongorestore,
mongoexport and mongoimport, and so do users with their passwords; mongostat and mongotop print what goes on. Built from a clone of
mongodb/mongo-tools beside the checkout; skipped with a word where that or Go is missing."""
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clones  # noqa: E402
import harness  # noqa: E402

BUILT = os.path.join(harness.ROOT, 'build', 'tools')


def tool(name):
    """The tool's path; built from the clone when needed."""
    path = os.path.join(BUILT, name)
    with harness.alone('tools'):
        if not os.path.exists(path):
            source = clones.work_tree('mongodb/mongo-tools')
            if source is None:
                raise unittest.SkipTest('no clone of mongodb/mongo-tools beside the checkout')
            if not shutil.which('go'):
                raise unittest.SkipTest('go is not here')
            os.makedirs(BUILT, exist_ok=True)
            subprocess.run(['go', 'build', '-o', path, './%s/main' % name], cwd=source, check=True, timeout=500)
    return path


class ToolsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        tool('mongodump')
        cls.server = harness.Server().start()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = cls.server.client(tz_aware=True)
        cls.addClassCleanup(cls.client.close)
        import bson
        zone = datetime.timezone.utc
        cls.documents = [{
            '_id': i, 'text': 'text %d \u00e9' % i, 'double': i / 7, 'long': bson.Int64(i << 40), 'decimal': bson.Decimal128('1.%d' % i),
            'date': datetime.datetime(2026, 1, 1 + i % 28, tzinfo=zone), 'oid': bson.ObjectId('%024x' % i), 'none': None,
            'array': [i, [i, {'x': i}]], 'bytes': b'\0\1%d' % i, 'flag': i % 2 == 0, 'regex': bson.Regex('^a', 'i'),
            'stamp': bson.Timestamp(i + 1, 1), 'min': bson.MinKey(), 'max': bson.MaxKey(),
        } for i in range(3000)]

    def setUp(self):
        for name in ('from', 'to'):
            self.client.drop_database(name)
        source = self.client['from'].c
        source.insert_many(self.documents)
        source.create_index([('text', 1)], unique=True)
        source.create_index([('array', 1), ('date', -1)])
        self.client['from'].create_collection('empty')

    def call(self, name, *arguments):
        done = subprocess.run([tool(name), '--uri', self.server.uri, *arguments], capture_output=True, text=True, timeout=120,
                              cwd=self.server.directory)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def check_copy(self, database):
        self.assertEqual(list(self.client[database].c.find(sort=[('_id', 1)])), self.documents)
        self.assertEqual(self.client[database].c.index_information(), self.client['from'].c.index_information())
        self.assertEqual(sorted(self.client[database].list_collection_names()), ['c', 'empty'])

    def test_dump_and_restore(self):
        self.call('mongodump', '--db', 'from', '--out', 'dump')
        self.call('mongorestore', '--nsFrom', 'from.*', '--nsTo', 'to.*', 'dump')
        self.check_copy('to')

    def test_dump_and_restore_through_a_compressed_archive_over_what_is_there(self):
        self.call('mongodump', '--archive=all.gz', '--gzip')
        self.client['from'].c.delete_many({'flag': True})
        self.call('mongorestore', '--archive=all.gz', '--gzip', '--drop')
        self.check_copy('from')

    def add_users(self):
        for database, users in {'from': ['ann', 'bob'], 'other': ['cid'], 'admin': ['dan'], 'later': []}.items():
            self.client[database].command('dropAllUsersFromDatabase')
            self.addCleanup(self.client[database].command, 'dropAllUsersFromDatabase')
            for user in users:
                self.client[database].command('createUser', user, pwd='pw', roles=['readWrite'], customData={'of': user})

    def users(self):
        return {user['_id']: user for user in self.client.admin['system.users'].find()}

    def check_login(self, database, user):
        for mechanism in ('SCRAM-SHA-1', 'SCRAM-SHA-256'):
            client = self.server.client(username=user, password='pw', authSource=database, authMechanism=mechanism)
            self.assertEqual(client[database].command('connectionStatus')['authInfo']['authenticatedUsers'], [{'user': user, 'db': database}])
            client.close()

    def test_dump_and_restore_of_a_databases_users(self):
        self.add_users()
        before = self.users()
        self.call('mongodump', '--db', 'from', '--dumpDbUsersAndRoles', '--out', 'with_users')
        self.client['from'].command('dropUser', 'ann')
        self.client['from'].command('updateUser', 'bob', pwd='changed')
        self.call('mongorestore', '--db', 'from', '--restoreDbUsersAndRoles', '--drop', 'with_users/from')
        self.assertEqual(self.users(), before)
        self.check_login('from', 'ann')
        self.check_login('from', 'bob')
        self.check_copy('from')
        # Those that are there already stay as they are.
        self.client['from'].command('dropUser', 'ann')
        self.client['from'].command('updateUser', 'bob', customData={'of': 'now'})
        self.call('mongorestore', '--db', 'from', '--restoreDbUsersAndRoles', 'with_users/from')
        self.assertEqual(self.users()['from.bob']['customData'], {'of': 'now'})
        self.check_login('from', 'ann')

    def test_dump_and_restore_of_everything_has_all_users(self):
        self.add_users()
        before = self.users()
        self.call('mongodump', '--archive=everything.gz', '--gzip')
        for database in ('from', 'other', 'admin'):
            self.client[database].command('dropAllUsersFromDatabase')
        self.client['later'].command('createUser', 'eve', pwd='pw', roles=[])
        self.call('mongorestore', '--archive=everything.gz', '--gzip', '--drop')
        self.assertEqual(self.users(), before)
        self.check_login('other', 'cid')
        self.check_login('admin', 'dan')
        self.assertNotIn('tempusers', self.client.admin.list_collection_names())

    def test_export_and_import(self):
        self.call('mongoexport', '--db', 'from', '--collection', 'c', '--jsonFormat', 'canonical', '--out', 'c.json', '--sort', '{"_id": 1}')
        self.call('mongoimport', '--db', 'to', '--collection', 'c', '--file', 'c.json')
        self.assertEqual(list(self.client['to'].c.find(sort=[('_id', 1)])), self.documents)
        # Again, as an update of what is there.
        self.client['to'].c.update_many({}, {'$set': {'text': 'changed'}})
        self.call('mongoimport', '--db', 'to', '--collection', 'c', '--file', 'c.json', '--mode', 'upsert')
        self.assertEqual(list(self.client['to'].c.find(sort=[('_id', 1)])), self.documents)

    def test_stat_counts_what_clients_do(self):
        with subprocess.Popen([tool('mongostat'), '--uri', self.server.uri, '--json', '--rowcount', '2', '1'], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as stat:
            while stat.poll() is None:
                self.client['from'].c.find_one({'_id': 5})
            out = stat.stdout.read()
        rows = [list(json.loads(line).values())[0] for line in out.splitlines() if line.startswith('{')]
        self.assertTrue(rows)
        self.assertTrue(any(int(row['query'].lstrip('*')) > 0 for row in rows), rows)

    def test_top_names_the_busy_collection(self):
        with subprocess.Popen([tool('mongotop'), '--uri', self.server.uri, '--json', '--rowcount', '1', '1'], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as top:
            while top.poll() is None:
                self.client['from'].c.find_one({'_id': 5})
            out = top.stdout.read()
        totals = json.loads(next(line for line in out.splitlines() if line.startswith('{')))['totals']
        self.assertGreater(totals['from.c']['read']['count'], 0)


class OplogToolsTest(unittest.TestCase):
    """A member's dump is of one moment although others write meanwhile."""

    def call(self, server, name, *arguments):
        done = subprocess.run([tool(name), '--uri', server.uri + '?directConnection=true', *arguments], capture_output=True, text=True,
                              timeout=120, cwd=self.directory)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def setUp(self):
        tool('mongodump')
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.directory = folder.name
        self.servers = [self.enterContext(harness.Server(arguments=['--replSet', 'rs0'])) for _ in range(2)]

    def test_a_new_server(self):
        self.call(self.servers[0], 'mongodump', '--oplog', '--out', 'dump')
        self.call(self.servers[1], 'mongorestore', '--oplogReplay', 'dump')

    def test_both_sides_of_each_transfer_are_in_the_dump(self):
        source, copy = (self.enterContext(server.client(directConnection=True)) for server in self.servers)
        for name in ('accounts', 'shadow'):
            source.bank[name].insert_many([{'_id': i, 'sum': 100, 'pad': 'x' * 500} for i in range(20_000)])
        ended = threading.Event()

        def transfer():
            number = 0
            while not ended.is_set():
                number += 1
                for name in ('accounts', 'shadow'):
                    source.bank[name].update_one({'_id': number % 20_000}, {'$inc': {'sum': number}})
                    source.bank[name].insert_one({'_id': 'new %d' % number, 'n': [number]})
                    source.bank[name].delete_one({'_id': 'new %d' % (number - 5)})
            source.bank.accounts.create_index('n')

        writer = threading.Thread(target=transfer)
        writer.start()
        try:
            said = self.call(self.servers[0], 'mongodump', '--oplog', '--out', 'dump')
        finally:
            ended.set()
            writer.join()
        self.assertRegex(said, r'dumped [1-9]\d* oplog entries')
        self.call(self.servers[1], 'mongorestore', '--oplogReplay', 'dump')
        accounts, shadow = ({one['_id']: one for one in copy.bank[name].find()} for name in ('accounts', 'shadow'))
        self.assertGreater(len(accounts), 20_000)
        different = {key for key in accounts.keys() | shadow.keys() if accounts.get(key) != shadow.get(key)}
        self.assertLessEqual(len(different), 3)  # those of the pair of writes at the dump's moment


if __name__ == '__main__':
    unittest.main()

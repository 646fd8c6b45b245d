# SPDX-License-Identifier: Apache-2.0
"""What an administrator and applications see of users, passwords, roles and TLS, with pymongo."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import certificates  # noqa: E402
import harness  # noqa: E402

pymongo = None


def has_option(name):
    said = subprocess.run([harness.program('freshetd'), '--help'], capture_output=True, text=True, check=True)
    return '--' + name in said.stdout


class AuthTest(unittest.TestCase):
    arguments = ['--auth']

    def setUp(self):
        global pymongo
        pymongo = harness.import_pymongo()
        self.server = harness.Server(arguments=self.arguments).start()
        self.addCleanup(self.server.__exit__)

    def client(self, user=None, password=None, **options):
        if user is not None:
            options.update(username=user, password=password)
        client = self.server.client(**options)
        self.addCleanup(client.close)
        return client

    def refused(self, code, words, call):
        with self.assertRaises(pymongo.errors.OperationFailure) as caught:
            call()
        self.assertEqual(caught.exception.code, code, caught.exception.details)
        self.assertIn(words, str(caught.exception))

    def make_root(self):
        self.client().admin.command('createUser', 'root', pwd='secret', roles=['root'])
        return self.client('root', 'secret')

    def test_the_first_user_is_made_from_here_and_only_the_first(self):
        near = self.client()
        self.refused(13, 'not authorized on db', lambda: near.db.c.find_one())
        near.admin.command('createUser', 'root', pwd='secret', roles=['root'])
        self.refused(13, 'requires authentication', lambda: near.admin.command('createUser', 'b', pwd='x', roles=['root']))
        self.refused(13, 'requires authentication', lambda: near.db.c.find_one())
        self.assertEqual(near.admin.command('ping')['ok'], 1)

    def test_both_mechanisms_and_wrong_passwords(self):
        self.make_root()
        for mechanism in ('SCRAM-SHA-1', 'SCRAM-SHA-256', None):
            options = {'authMechanism': mechanism} if mechanism else {}
            client = self.client('root', 'secret', **options)
            client.db.c.insert_one({})
            self.assertEqual(client.admin.command('connectionStatus')['authInfo']['authenticatedUsers'],
                             [{'user': 'root', 'db': 'admin'}])
            for user, password in (('root', 'wrong'), ('nobody', 'secret')):
                self.refused(18, 'Authentication failed.', lambda: self.client(user, password, **options).db.c.find_one())

    def test_the_shell_says_that_a_login_failed_and_no_more(self):
        self.make_root()
        told = subprocess.run([harness.program('freshet'), '--port', str(self.server.port), '-u', 'root', '-p', 'wrong', '--eval', '1'],
                              capture_output=True, text=True)
        self.assertEqual((told.returncode, told.stderr), (1, 'MongoServerError: Authentication failed.\n'))

    def test_a_user_of_sha_1_alone_logs_in_by_the_default_negotiation(self):
        root = self.make_root()
        for mechanisms in (['SCRAM-SHA-1'], ['SCRAM-SHA-256']):
            root.db.command('createUser', 'old', pwd='pw', roles=['read'], mechanisms=mechanisms)
            self.client('old', 'pw', authSource='db').db.c.find_one()
            self.refused(18, 'Authentication failed.', lambda: self.client('old', 'wrong', authSource='db').db.c.find_one())
            root.db.command('dropUser', 'old')

    def salt(self, user, mechanism, database='db'):
        """What a stranger is told who begins to log in."""
        begun = self.client()[database].command('saslStart', 1, mechanism=mechanism, payload=('n,,n=%s,r=abc' % user).encode())
        return dict(part.split('=', 1) for part in bytes(begun['payload']).decode().split(','))

    def test_unknown_users_look_like_users_across_restarts(self):
        root = self.make_root()
        root.db.command('createUser', 'ann', pwd='pw', roles=['read'])
        before = {}
        for user in ('ann', 'nobody'):
            for mechanism in ('SCRAM-SHA-1', 'SCRAM-SHA-256'):
                told = self.salt(user, mechanism)
                before[user, mechanism] = told['s']
                self.assertEqual(told['i'], '10000' if mechanism == 'SCRAM-SHA-1' else '15000')
                self.assertEqual(len(told['s']), 24 if mechanism == 'SCRAM-SHA-1' else 40)
        self.assertNotEqual(before['nobody', 'SCRAM-SHA-1'][:8], before['nobody', 'SCRAM-SHA-256'][:8])
        self.server.kill()
        self.server.start()
        for (user, mechanism), salt in before.items():
            self.assertEqual(self.salt(user, mechanism)['s'], salt, user)

    def test_users_do_not_go_by_the_way(self):
        root = self.make_root()
        root.admin.command('createUser', 'boss', pwd='pw', roles=['dbAdmin', 'dbAdminAnyDatabase', 'readWriteAnyDatabase'])
        boss = self.client('boss', 'pw')
        self.refused(20, "Dropping the 'admin' database is prohibited.", lambda: boss.drop_database('admin'))
        self.refused(20, "Dropping the 'admin' database is prohibited.", lambda: root.drop_database('admin'))
        self.refused(20, "can't drop system collection admin.system.users", lambda: root.admin.command('drop', 'system.users'))
        self.refused(13, 'not authorized', lambda: boss.admin['system.users'].delete_many({}))
        boss.db.c.insert_one({})
        for stage in ({'$out': {'db': 'admin', 'coll': 'system.users'}}, {'$merge': {'into': {'db': 'admin', 'coll': 'system.users'}}}):
            self.refused(13, 'not authorized', lambda: list(boss.db.c.aggregate([stage])))
        for code, out in ((115, {'replace': 'system.users', 'db': 'admin'}), (115, {'merge': 'users', 'db': 'admin'}),
                          (17385, {'replace': 'system.js'}), (31319, {'merge': 'system.js'})):
            self.refused(code, '', lambda: root.db.command('mapReduce', 'c', map='function() { emit(1, 1); }',
                                                           reduce='function() { return 1; }', out=out))
        self.server.kill()
        self.server.start()
        self.refused(13, 'requires authentication', lambda: self.client().admin.command('createUser', 'me', pwd='x', roles=['root']))

    def test_what_is_restored_as_a_user_is_one(self):
        root = self.make_root()
        root.admin.command('createUser', 'keeper', pwd='pw', roles=['restore'])
        keeper = self.client('keeper', 'pw')
        user = root.admin['system.users'].find_one({'_id': 'admin.root'})
        for change in ({'_id': 'x'}, {'user': 7}, {'roles': 'root'}, {'credentials': {'SCRAM-SHA-1': {'salt': 'odd'}}}):
            with self.assertRaises(pymongo.errors.WriteError) as caught:
                keeper.admin['system.users'].insert_one({**user, '_id': 'db.eve', 'user': 'eve', 'db': 'db', **change})
            self.assertEqual(caught.exception.code, 2)
        keeper.admin['system.users'].insert_one({**user, '_id': 'db.eve', 'user': 'eve', 'db': 'db', 'roles': [{'role': 'read', 'db': 'db'}]})
        self.client('eve', 'secret', authSource='db', authMechanism='SCRAM-SHA-256').db.c.find_one()

    def test_strange_names_and_passwords(self):
        root = self.make_root()
        for user, password in (('a,b=c', 'p=,w'), ('Zoë Ümlaut', 'pa\u00a0ss\u2168'), ('x@y:z/%', '  '), ('n' * 200, 'p' * 1000)):
            root.db.command('createUser', user, pwd=password, roles=['readWrite'])
            for mechanism in ('SCRAM-SHA-1', 'SCRAM-SHA-256'):
                self.client(user, password, authSource='db', authMechanism=mechanism).db.c.insert_one({})

    def test_roles(self):
        root = self.make_root()
        root.db.c.insert_one({'_id': 1})
        for role in ('read', 'readWrite', 'dbAdmin', 'userAdmin'):
            root.db.command('createUser', role, pwd='pw', roles=[role])
        reader = self.client('read', 'pw', authSource='db')
        writer = self.client('readWrite', 'pw', authSource='db')
        self.assertEqual(reader.db.c.find_one(), {'_id': 1})
        self.refused(13, 'not authorized on db to execute command', lambda: reader.db.c.insert_one({}))
        self.refused(13, 'not authorized on other', lambda: reader.other.c.find_one())
        writer.db.c.insert_one({'_id': 2})
        self.assertEqual([d['_id'] for d in writer.db.c.find(batch_size=1)], [1, 2])
        self.assertEqual(reader.db.list_collection_names(), ['c'])
        self.assertEqual(reader.list_database_names(), ['db'])
        self.client('dbAdmin', 'pw', authSource='db').db.c.create_index('a')
        self.client('userAdmin', 'pw', authSource='db').db.command('createUser', 'new', pwd='pw', roles=['read'])
        self.client('new', 'pw', authSource='db').db.c.find_one()

    def test_a_new_password_counts_and_survives_a_restart(self):
        root = self.make_root()
        root.db.command('createUser', 'ann', pwd='old', roles=['read'])
        root.db.command('updateUser', 'ann', pwd='new')
        self.refused(18, 'Authentication failed.', lambda: self.client('ann', 'old', authSource='db').db.c.find_one())
        self.server.kill()
        self.server.start()
        self.client('ann', 'new', authSource='db').db.c.find_one()
        users = self.client('root', 'secret').db.command('usersInfo', 'ann')['users']
        self.assertEqual(users[0]['roles'], [{'role': 'read', 'db': 'db'}])

    def test_passwords_are_not_in_the_log(self):
        root = self.make_root()
        root.db.command('createUser', 'ann', pwd='tell-nobody', roles=['read'])
        self.refused(13, 'xxx', lambda: self.client('ann', 'tell-nobody', authSource='db').db.command(
            'createUser', 'b', pwd='tell-nobody', roles=[]))
        self.refused(18, '', lambda: self.client('ann', 'wrong-word', authSource='db').db.c.find_one())
        log = self.server.log_text()
        self.assertIn('Failed to authenticate', log)
        self.assertIn('Successfully authenticated', log)
        for word in ('tell-nobody', 'wrong-word', 'secret'):
            self.assertNotIn(word, log)

    def test_sessions_and_transactions_of_users_do_not_meet(self):
        root = self.make_root()
        root.db.command('createUser', 'ann', pwd='pw', roles=['readWrite'])
        ann = self.client('ann', 'pw', authSource='db')
        with ann.start_session() as session:
            ann.db.c.insert_many([{}, {}, {}], session=session)
            cursor = ann.db.c.find({}, session=session, batch_size=1)
            next(cursor)
            self.refused(13, 'was not created by the authenticated user',
                         lambda: root.db.command({'getMore': cursor.cursor_id, 'collection': 'c'}))
            self.assertEqual(len(list(cursor)), 2)


class TlsTest(AuthTest):
    @classmethod
    def setUpClass(cls):
        if not has_option('tlsMode'):
            raise unittest.SkipTest('this freshetd has no --tlsMode')

    def setUp(self):
        import tempfile
        directory = tempfile.TemporaryDirectory(prefix='freshet-tls-')
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        certificates.make(self.directory)
        # preferTLS: the harness's own ping is plain.
        self.arguments = ['--auth', '--tlsMode', 'preferTLS', '--tlsCertificateKeyFile', self.path('server.pem'),
                          '--tlsCAFile', self.path('ca.pem'), '--tlsAllowConnectionsWithoutCertificates']
        super().setUp()

    def path(self, name):
        return os.path.join(self.directory, name)

    def client(self, user=None, password=None, **options):
        return super().client(user, password, tls=True, tlsCAFile=self.path('ca.pem'), **options)

    def test_certificates_open_for_their_user(self):
        root = self.make_root()
        root['$external'].command('createUser', 'CN=client,O=Freshet', roles=[{'role': 'read', 'db': 'db'}])
        client = self.client(authMechanism='MONGODB-X509', tlsCertificateKeyFile=self.path('client.pem'))
        client.db.c.find_one()
        self.refused(13, 'not authorized', lambda: client.db.c.insert_one({}))
        self.refused(18, 'Authentication failed.', lambda: self.client(authMechanism='MONGODB-X509').db.c.find_one())
        self.assertIn('MONGODB-X509', root.admin.command('getParameter', 1, authenticationMechanisms=1)['authenticationMechanisms'])

    def shell(self, *options):
        """What db.runCommand('connectionStatus') tells of the user, or the shell's error."""
        told = subprocess.run(
            [harness.program('freshet'), '--host', 'localhost', '--port', str(self.server.port), '--quiet', '--tls', '--tlsCAFile',
             self.path('ca.pem'), '--eval', 'db.runCommand({connectionStatus: 1}).authInfo.authenticatedUsers.map(({user}) => user)'] +
            list(options), capture_output=True, text=True)
        return told.stdout.strip() if told.returncode == 0 else told.stderr.strip()

    def test_the_shell_comes_by_certificate(self):
        root = self.make_root()
        root['$external'].command('createUser', 'CN=client,O=Freshet', roles=[{'role': 'read', 'db': 'db'}])
        by_certificate = ['--authenticationMechanism', 'MONGODB-X509']
        own = by_certificate + ['--tlsCertificateKeyFile', self.path('client.pem')]
        self.assertIn('CN=client,O=Freshet', self.shell(*own))
        self.assertIn('CN=client,O=Freshet', self.shell('--username', 'CN=client,O=Freshet', *own))
        self.assertIn('CN=client,O=Freshet', self.shell('--tlsDisabledProtocols', 'TLS1_3', *own))
        self.assertIn('Authentication failed', self.shell(*by_certificate))
        self.assertIn('unknown TLS protocol: TLS9', self.shell('--tlsDisabledProtocols', 'TLS9'))

    def test_the_shell_refuses_a_certificate_that_was_taken_back(self):
        self.make_root()
        self.assertEqual(self.shell('--tlsCRLFile', self.path('none.crl')), '[]')
        self.assertIn('certificate revoked', self.shell('--tlsCRLFile', self.path('server.crl')))

    def test_a_foreign_authority_is_not_trusted(self):
        foreign = os.path.join(self.directory, 'foreign')
        os.mkdir(foreign)
        certificates.make(foreign)
        stranger = self.server.client(tls=True, tlsCAFile=os.path.join(foreign, 'ca.pem'), serverSelectionTimeoutMS=2000)
        self.addCleanup(stranger.close)
        with self.assertRaises(pymongo.errors.ServerSelectionTimeoutError):
            stranger.admin.command('ping')


if __name__ == '__main__':
    unittest.main()

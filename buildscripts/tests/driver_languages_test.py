# SPDX-License-Identifier: Apache-2.0
"""The newest Node.js, Go and Java drivers do the same scenario: CRUD, bulk writes, cursors, indexes, GridFS; on a plain
connection, and logged in over TLS. They and libmongoc do transactions and follow change streams. A language whose toolchain is missing is skipped with a word."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import certificates  # noqa: E402
import harness  # noqa: E402

SOURCES = os.path.join(harness.ROOT, 'buildscripts', 'tests', 'drivers')
WORK = os.path.join(harness.ROOT, 'build', 'drivers')
GRIDFS = hashlib.sha256(bytes(i * 31 % 251 for i in range(700_000))).hexdigest()
EXPECTED = {
    'inserted': 1000, 'bulk': [1, 102, 102, 1, 1], 'cursor': [100, 49800], 'duplicate': 11000,
    'indexes': ['_id_', 'text_1'], 'groups': 10, 'after': ['x'], 'distinct': 10, 'gridfs': GRIDFS,
}

EXPECTED_OF_SET = {'aborted': 'changed my mind', 'kept': [{'_id': 1, 'n': 2}], 'events': ['insert', 'update'], 'resumed': {'n': 2}}


def call(command, folder, seconds=300):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
    if done.returncode != 0:
        raise AssertionError('%s: %s' % (' '.join(command), (done.stdout + done.stderr)[-3000:]))
    return done.stdout


def once(name, make):
    """A work folder whose tools and libraries `make` has fetched, once."""
    folder = os.path.join(WORK, name)
    with harness.alone('drivers-' + name):
        if not os.path.exists(os.path.join(folder, 'ready')):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            make(folder)
            open(os.path.join(folder, 'ready'), 'w', encoding='utf-8').close()
    return folder


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise unittest.SkipTest(tool + ' is not here')


def with_authority(uri, authority):
    return uri + '&tlsCAFile=' + urllib.parse.quote(authority, safe='') if authority else uri


def install_node():
    need('node', 'npm')
    # The second one is for docs/app/embedding.md and driver_memory_server_test.py. It downloads no mongod when it is installed.
    packages = ['mongodb', 'mongodb-memory-server-core']
    return once('node', lambda f: call(['npm', 'install', '--prefix', f, '--no-audit', '--no-fund', '--silent', *packages], f))


def node(uri, authority=None, more=()):
    folder = install_node()
    shutil.copy(os.path.join(SOURCES, 'scenario.mjs'), folder)
    return call(['node', 'scenario.mjs', with_authority(uri, authority), *more], folder)


def install_go():
    need('go')

    def make(folder):
        shutil.copy(os.path.join(SOURCES, 'scenario.go'), folder)
        call(['go', 'mod', 'init', 'scenario'], folder)
        call(['go', 'get', 'go.mongodb.org/mongo-driver/v2@latest'], folder)
        call(['go', 'mod', 'tidy'], folder)
    return once('go', make)


def go(uri, authority=None, more=()):
    folder = install_go()
    shutil.copy(os.path.join(SOURCES, 'scenario.go'), folder)
    call(['go', 'build', '-o', 'scenario', '.'], folder)
    return call(['./scenario', with_authority(uri, authority), *more], folder)


def install_java():
    need('java', 'javac', 'mvn')

    def make(folder):
        pom = ('<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>'
               '<dependencies><dependency><groupId>org.mongodb</groupId><artifactId>mongodb-driver-sync</artifactId>'
               '<version>[5,6)</version></dependency></dependencies></project>')
        with open(os.path.join(folder, 'pom.xml'), 'w', encoding='utf-8') as out:
            out.write(pom)
        call(['mvn', '-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib', '-DincludeScope=runtime'], folder, 600)
    return once('java', make)


def java(uri, authority=None, more=()):
    folder = install_java()
    trust = []
    if authority:  # this driver knows no tlsCAFile
        need('keytool')
        store = authority + '.jks'
        if not os.path.exists(store):
            call(['keytool', '-importcert', '-noprompt', '-alias', 'authority', '-file', authority, '-keystore', store,
                  '-storepass', 'changeit'], folder)
        trust = ['-Djavax.net.ssl.trustStore=' + store, '-Djavax.net.ssl.trustStorePassword=changeit']
    return call(['java'] + trust + ['-cp', 'lib/*', os.path.join(SOURCES, 'Scenario.java'), uri, *more], folder)


def c(uri):
    """With the system's libmongoc."""
    need('cc', 'pkg-config')
    flags = subprocess.run(['pkg-config', '--cflags', '--libs', 'libmongoc-1.0'], capture_output=True, text=True)
    if flags.returncode != 0:
        raise unittest.SkipTest('libmongoc-dev is not here')
    with tempfile.TemporaryDirectory() as folder:
        call(['cc', '-o', 'scenario', os.path.join(SOURCES, 'scenario.c'), *flags.stdout.split()], folder)
        return call(['./scenario', uri], folder)


class LanguagesTest(unittest.TestCase):
    """On a plain connection, without login."""

    def scenario(self, run):
        with harness.Server() as server:
            self.judge(run(server.uri))

    def judge(self, output, expected=None):
        self.assertEqual(json.loads(output.strip().splitlines()[-1]), expected or EXPECTED)

    def test_node(self):
        self.scenario(node)

    def test_go(self):
        self.scenario(go)

    def test_java(self):
        self.scenario(java)


class ReplicaSetTest(LanguagesTest):
    """As the primary of a replica set of one, where these drivers number their writes; with transactions and change streams."""

    def scenario(self, run):
        with harness.Server(arguments=['--replSet', 'rs0']) as server:
            self.judge(run(server.uri + '?replicaSet=rs0', more=['set']), {**EXPECTED, **EXPECTED_OF_SET})
            with server.client() as client:
                self.assertGreater(client.config.transactions.count_documents({}), 0)

    def test_c(self):
        with harness.Server(arguments=['--replSet', 'rs0']) as server:
            self.judge(c(server.uri + '?replicaSet=rs0'), {'kept': 2, 'events': ['insert', 'update'], 'resumed': 'update'})


class LoginOverTlsTest(LanguagesTest):
    """Logged in by either mechanism, over TLS, the server's certificate checked by a file of its authority."""
    PASSWORD = 'p@ss/w:rd%'

    def scenario(self, run):
        directory = tempfile.TemporaryDirectory(prefix='freshet-tls-')
        self.addCleanup(directory.cleanup)
        certificates.make(directory.name)
        # preferTLS: the harness's own ping is plain.
        arguments = ['--auth', '--tlsMode', 'preferTLS', '--tlsCertificateKeyFile', os.path.join(directory.name, 'server.pem')]
        with harness.Server(arguments=arguments) as server:
            with server.client() as client:
                client.admin.command('createUser', 'ann', pwd=self.PASSWORD, roles=['root'])
            for mechanism in ('SCRAM-SHA-256', 'SCRAM-SHA-1'):
                with self.subTest(mechanism=mechanism):
                    self.judge(run('mongodb://ann:%s@localhost:%d/?authSource=admin&authMechanism=%s&tls=true' % (
                        urllib.parse.quote(self.PASSWORD, safe=''), server.port, mechanism), os.path.join(directory.name, 'ca.pem')))
                    self.assertTrue(any('Successfully authenticated' in line and '"%s"' % mechanism in line
                                        for line in server.log_text().splitlines()))


if __name__ == '__main__':
    unittest.main()

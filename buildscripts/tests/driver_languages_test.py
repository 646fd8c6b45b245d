# SPDX-License-Identifier: Apache-2.0
"""The newest Node.js, Go and Java drivers do the same scenario: CRUD, bulk writes, cursors, indexes, GridFS.
A language whose toolchain is missing is skipped with a word."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

SOURCES = os.path.join(harness.ROOT, 'buildscripts', 'tests', 'drivers')
WORK = os.path.join(harness.ROOT, 'build', 'drivers')
GRIDFS = hashlib.sha256(bytes(i * 31 % 251 for i in range(700_000))).hexdigest()
EXPECTED = {
    'inserted': 1000, 'bulk': [1, 102, 102, 1, 1], 'cursor': [100, 49800], 'duplicate': 11000,
    'indexes': ['_id_', 'text_1'], 'groups': 10, 'after': ['x'], 'distinct': 10, 'gridfs': GRIDFS,
}


def call(command, folder, seconds=300):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
    if done.returncode != 0:
        raise AssertionError('%s: %s' % (' '.join(command), (done.stdout + done.stderr)[-3000:]))
    return done.stdout


def once(name, make):
    """A work folder whose tools and libraries `make` has fetched, once."""
    folder = os.path.join(WORK, name)
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


def node(uri):
    need('node', 'npm')
    folder = once('node', lambda f: call(['npm', 'install', '--prefix', f, '--no-audit', '--no-fund', '--silent', 'mongodb'], f))
    shutil.copy(os.path.join(SOURCES, 'scenario.mjs'), folder)
    return call(['node', 'scenario.mjs', uri], folder)


def go(uri):
    need('go')

    def make(folder):
        shutil.copy(os.path.join(SOURCES, 'scenario.go'), folder)
        call(['go', 'mod', 'init', 'scenario'], folder)
        call(['go', 'get', 'go.mongodb.org/mongo-driver/v2@latest'], folder)
        call(['go', 'mod', 'tidy'], folder)
    folder = once('go', make)
    shutil.copy(os.path.join(SOURCES, 'scenario.go'), folder)
    call(['go', 'build', '-o', 'scenario', '.'], folder)
    return call(['./scenario', uri], folder)


def java(uri):
    need('java', 'javac', 'mvn')

    def make(folder):
        pom = ('<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version>'
               '<dependencies><dependency><groupId>org.mongodb</groupId><artifactId>mongodb-driver-sync</artifactId>'
               '<version>[5,6)</version></dependency></dependencies></project>')
        with open(os.path.join(folder, 'pom.xml'), 'w', encoding='utf-8') as out:
            out.write(pom)
        call(['mvn', '-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib', '-DincludeScope=runtime'], folder, 600)
    folder = once('java', make)
    return call(['java', '-cp', 'lib/*', os.path.join(SOURCES, 'Scenario.java'), uri], folder)


class LanguagesTest(unittest.TestCase):
    def scenario(self, run):
        with harness.Server() as server:
            answer = json.loads(run(server.uri).strip().splitlines()[-1])
        self.assertEqual(answer, EXPECTED)

    def test_node(self):
        self.scenario(node)

    def test_go(self):
        self.scenario(go)

    def test_java(self):
        self.scenario(java)


if __name__ == '__main__':
    unittest.main()

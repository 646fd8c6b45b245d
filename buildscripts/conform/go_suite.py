# SPDX-License-Identifier: Apache-2.0
"""The Go driver's own tests that need a server: its module, with the tests, comes through the Go module proxy; the files of
the driver specifications, which the module leaves out, from a clone of mongodb/specifications."""
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess

import clones
import harness
import pytest_runs

MODULE = 'go.mongodb.org/mongo-driver/v2'
VERSION = 'v2.10.0'
# {name in the lists: (folder of the package, its top-level tests to run; '' is all)}
PACKAGES = {
    'integration': ('internal/integration', ''),
    'unified': ('internal/integration/unified', ''),
    'driver': ('x/mongo/driver/integration', ''),
    'mongo': ('mongo', '^(TestClient|TestConvenientTransactions|TestGridFS|TestBucket_.*)$'),
    'docexamples': ('internal/docexamples', ''),
}
MINUTES = 25
# Go's settings of this machine must not lead elsewhere: the module's workspace names folders that the module leaves out.
ENVIRONMENT = {'GOWORK': 'off', 'GOFLAGS': '-buildvcs=false'}
MARKS = re.compile(r'^\s*(=== (RUN|PAUSE|CONT|NAME)|--- (PASS|FAIL|SKIP):)')


def missing(specifications):
    """Why the suite cannot run here; None when it can."""
    if not shutil.which('go'):
        return 'go is not here'
    return None if clones.find('mongodb/specifications', specifications) else 'no clone of mongodb/specifications beside the checkout'


def source(specifications):
    """A copy of the module, which may be written to, with the specifications where its tests look for them."""
    folder = os.path.join(clones.WORK, 'mongo-driver-' + VERSION)
    files = os.path.join(folder, 'testdata', 'specifications')
    with harness.alone('go-driver'):
        if not os.path.lexists(files):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(clones.WORK, exist_ok=True)
            found = subprocess.check_output(['go', 'mod', 'download', '-json', '%s@%s' % (MODULE, VERSION)], cwd=clones.WORK)
            shutil.copytree(json.loads(found)['Dir'], folder)
            subprocess.run(['chmod', '-R', 'u+w', folder], check=True)
            os.symlink(clones.work_tree('mongodb/specifications', specifications), files)
    return folder


def pattern(tests):
    """What -run takes to run these tests and no other: an expression for each part of a name."""
    return '|'.join('/'.join('^%s$' % re.escape(part) for part in test.split('/')) for test in tests)


def parse(name, lines):
    """{test: [outcome, detail, seconds]} of what `go test -json` writes. A test that has subtests counts where it fails by itself."""
    output, ended, waiting = collections.defaultdict(list), {}, set()
    for line in lines:
        event = json.loads(line) if line.startswith('{') else {}
        test = event.get('Test')
        if test and event['Action'] == 'output':
            output[test].append(event['Output'])
        elif test and event['Action'] in ('pass', 'fail', 'skip'):
            ended[test] = (event['Action'], event['Elapsed'])
        elif test:
            waiting = waiting | {test} if event['Action'] == 'pause' else waiting - {test}
    for test in set(output) - set(ended) - waiting:  # the process ended within it
        ended[test] = ('fail', 0)
    parents = {parent for test in ended for parent in ancestors(test)}
    explained = {parent for test, (action, _) in ended.items() if action == 'fail' for parent in ancestors(test)}
    words = {'pass': 'passed', 'fail': 'failed', 'skip': 'skipped'}
    return {'%s/%s' % (name, test): [words[action], detail(output[test], action), seconds] for test, (action, seconds) in ended.items()
            if test not in parents or (action == 'fail' and test not in explained)}


def ancestors(test):
    parts = test.split('/')
    return ['/'.join(parts[:count]) for count in range(1, len(parts))]


def detail(lines, action):
    """What the test said; of a skipped one only why, without the place, for the skips are counted by it."""
    said = [line.strip() for line in lines if not MARKS.match(line) and line.strip()]
    if action == 'pass':
        return ''
    if action == 'skip':
        return re.sub(r'^\S+\.go:\d+: ', '', said[-1]) if said else ''
    text = '\n'.join(said)
    return text if len(text) < 8000 else text[:4000] + '\n...\n' + text[-4000:]


def call(command, folder, **environment):
    return subprocess.check_output(command, cwd=folder, env=dict(os.environ, **ENVIRONMENT, **environment), text=True)


class Package:
    """The tests of one package, built once, and a server of their own: tests make servers fail on purpose."""

    def __init__(self, work, folder, name):
        self.name, (path, self.top) = name, PACKAGES[name]
        self.folder, self.program, self.log = os.path.join(folder, path), os.path.join(work, name + '.test'), os.path.join(work, name + '.json')

    def run(self, configuration, tests):
        call(['go', 'test', '-c', '-o', self.program, '.'], self.folder)
        outcomes = {}
        with harness.Server(arguments=pytest_runs.TEST_COMMANDS + pytest_runs.CONFIGURATIONS[configuration]) as server:
            wanted = tests or self.top_tests(server)
            while wanted:
                before = len(wanted)
                outcomes.update(self.part(server, wanted))
                # A panic ends the process, and with it the tests that were not run yet.
                wanted = [test for test in wanted if not any((known + '/').startswith('%s/%s/' % (self.name, test)) for known in outcomes)]
                if len(wanted) == before:
                    raise SystemExit('nothing is known of %s:\n%s' % (' '.join(wanted), self.log_text()[-4000:]))
        return outcomes

    def top_tests(self, server):
        listed = call([self.program, '-test.list', self.top or '.'], self.folder, MONGODB_URI=server.uri + '?replicaSet=rs0')
        return [line for line in listed.splitlines() if re.fullmatch(r'Test\w+', line)]

    def part(self, server, wanted):
        command = ['go', 'tool', 'test2json', '-t', self.program, '-test.v=test2json', '-test.timeout=%dm' % MINUTES, '-test.run', pattern(wanted)]
        with open(self.log, 'w', encoding='utf-8') as out:
            subprocess.run(command, cwd=self.folder, env=dict(os.environ, **ENVIRONMENT, MONGODB_URI=server.uri + '?replicaSet=rs0'),
                           stdout=out, stderr=subprocess.STDOUT)
        if server.process.poll() is not None:
            raise SystemExit('a server ended with %s:\n%s' % (server.process.returncode, server.log_text()[-4000:]))
        return parse(self.name, self.log_text().splitlines())

    def log_text(self):
        with open(self.log, encoding='utf-8', errors='replace') as text:
            return text.read()


def run(work, configuration, folder, only, jobs, tests=None):
    """{test: [outcome, detail, seconds]}; `folder`: what source() gave."""
    os.makedirs(work, exist_ok=True)
    wanted = dict.fromkeys(PACKAGES)
    if tests is not None:
        wanted = collections.defaultdict(list)
        for test in tests:
            package, _, rest = test.partition('/')
            wanted[package].append(rest)
    outcomes = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for part in [pool.submit(Package(work, folder, name).run, configuration, some) for name, some in wanted.items()]:
            outcomes.update(part.result())
    return {test: outcome for test, outcome in outcomes.items() if only in test}

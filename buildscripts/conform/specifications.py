# SPDX-License-Identifier: Apache-2.0
"""The unified tests of mongodb/specifications, under pymongo's runner of them."""
import os
import shutil

import clones
import pytest_runs

# {suite: folder}. Of folders with tests in other formats (server-discovery-and-monitoring, connection-monitoring-and-pooling,
# server-selection) the driver's own suite runs the rest. Left out: client-side-encryption (needs libmongocrypt and
# Enterprise's or Atlas's parts), load-balancers (needs one), open-telemetry (the driver has none).
SUITES = {
    'auth': 'auth/tests/unified',
    'causal-consistency': 'causal-consistency/tests',
    'change-streams': 'change-streams/tests/unified',
    'client-backpressure': 'client-backpressure/tests',
    # Named as the driver names it: its runner leaves out by this name what the driver does not have.
    'csot': 'client-side-operations-timeout/tests',
    'collection-management': 'collection-management/tests',
    'command-logging': 'command-logging-and-monitoring/tests',
    'connection-logging': 'connection-monitoring-and-pooling/tests/logging',
    'crud': 'crud/tests/unified',
    'gridfs': 'gridfs/tests',
    'handshake': 'mongodb-handshake/tests/unified',
    'index-management': 'index-management/tests',
    'read-write-concern': 'read-write-concern/tests/operation',
    'retryable-reads': 'retryable-reads/tests/unified',
    'retryable-writes': 'retryable-writes/tests/unified',
    'run-command': 'run-command/tests/unified',
    'server-discovery': 'server-discovery-and-monitoring/tests/unified',
    'server-selection-logging': 'server-selection/tests/logging',
    'sessions': 'sessions/tests',
    'transactions': 'transactions/tests/unified',
    'transactions-convenient-api': 'transactions-convenient-api/tests/unified',
    'unified-test-format': 'unified-test-format/tests/valid-pass',
    'versioned-api': 'versioned-api/tests',
}
MODULE = '''from test.unified_format import generate_test_classes
globals().update(generate_test_classes(%r, module=__name__, bypass_test_generation_errors=True))
'''
CONFTEST = '''import pytest
from test import setup, teardown


@pytest.fixture(scope='session', autouse=True)
def server():
    setup()
    yield
    teardown()
'''


def stage(specifications, suites, folder):
    """A test module for each suite, beside a folder with just its JSON: the driver's runner takes every file for a test."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for suite in suites:
        staged = os.path.join(folder, suite.replace('-', '_'))
        shutil.copytree(os.path.join(specifications, 'source', SUITES[suite]), staged, ignore=lambda path, names: [
            name for name in names if not name.endswith('.json') and not os.path.isdir(os.path.join(path, name))])
        with open(os.path.join(folder, 'test_%s.py' % suite), 'w', encoding='utf-8') as module:
            module.write(MODULE % staged)
    with open(os.path.join(folder, 'conftest.py'), 'w', encoding='utf-8') as conftest:
        conftest.write(CONFTEST)
    with open(os.path.join(folder, 'pytest.ini'), 'w', encoding='utf-8') as ini:
        ini.write('[pytest]\nmarkers =\n    encryption: needs libmongocrypt\n')
    return folder


def missing(given):
    """What the run lacks, or None."""
    return None if clones.find('mongodb/specifications', given) else 'no clone of mongodb/specifications beside the checkout'


def run(work, configuration, driver, given, suites, only, jobs, tests=None):
    """{test: [outcome, detail, seconds]} of the suites; empty names all."""
    folder = stage(clones.work_tree('mongodb/specifications', given), suites or list(SUITES), os.path.join(work, 'suites'))
    return pytest_runs.run(work, configuration, driver, [
        '-c', os.path.join(folder, 'pytest.ini'), '--rootdir', folder, '--import-mode=importlib', folder], only, jobs, tests)

# SPDX-License-Identifier: Apache-2.0
"""Runs pytest on the driver's test package with a server for each worker; see pytest_outcomes.py."""
import contextlib
import json
import os
import subprocess

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = {'pytest': 'pytest', 'pytest_asyncio': 'pytest-asyncio', 'xdist': 'pytest-xdist', 'pytest_timeout': 'pytest-timeout',
            'dns': 'dnspython', 'importlib_metadata': 'importlib-metadata'}
SECONDS_OF_A_TEST = 120
TEST_COMMANDS = ['--setParameter', 'enableTestCommands=1']
# As operators run servers: alone, as a replica set of one, and that with logins.
CONFIGURATIONS = {
    'standalone': [],
    'replica_set': ['--replSet', 'rs0'],
    'login': ['--replSet', 'rs0', '--auth'],
}


def prepare_python():
    """pytest and what the driver's tests import, in the tests' virtual environment."""
    harness.import_pymongo()
    python = os.path.join(harness.ROOT, 'build', 'venv', 'bin', 'python3')
    with harness.alone('venv-packages'):
        if subprocess.run([python, '-c', 'import ' + ', '.join(PACKAGES)], capture_output=True).returncode != 0:
            subprocess.run([python, '-m', 'pip', 'install', '-q'] + list(PACKAGES.values()), check=True)
    return python


def run(work, configuration, driver, arguments, only='', jobs=4, tests=None):
    """{test: [outcome, detail, seconds]}; `tests` names those to run, None all. A server that ends by itself ends the run."""
    os.makedirs(work, exist_ok=True)
    report, log = os.path.join(work, 'outcomes.json'), os.path.join(work, 'pytest.log')
    names = os.path.join(work, 'tests.json')
    if tests is not None:
        with open(names, 'w', encoding='utf-8') as out:
            json.dump(sorted(tests), out)
    if os.path.exists(report):
        os.remove(report)
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(harness.Server(arguments=TEST_COMMANDS + CONFIGURATIONS[configuration])) for _ in range(jobs)]
        environment = dict(os.environ, DB_IP='localhost', FRESHET_PORTS=','.join(str(server.port) for server in servers),
                           FRESHET_OUTCOMES=report, FRESHET_ONLY=only, FRESHET_TESTS='' if tests is None else names, PYTHONPATH=driver + os.pathsep + HERE,
                           FRESHET_LOGIN='1' if '--auth' in CONFIGURATIONS[configuration] else '')
        command = [prepare_python(), '-B', '-m', 'pytest', '-q', '-p', 'pytest_outcomes', '-p', 'no:cacheprovider', '--tb=native', '-n', str(jobs),
                   '--timeout=%d' % SECONDS_OF_A_TEST, '--dist=loadscope'] + arguments
        with open(log, 'w', encoding='utf-8') as out:
            done = subprocess.run(command, cwd=driver, env=environment, stdout=out, stderr=subprocess.STDOUT)
        for server in servers:
            if server.process.poll() is not None:
                raise SystemExit('a server ended with %s:\n%s' % (server.process.returncode, server.log_text()[-4000:]))
    if done.returncode not in (0, 1) or not os.path.exists(report):
        with open(log, encoding='utf-8', errors='replace') as text:
            raise SystemExit('pytest ended with %d:\n%s' % (done.returncode, text.read()[-4000:]))
    with open(report, encoding='utf-8') as text:
        return json.load(text)

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs jstests/ in our own shell. A suite (etc/suites/NAME.yml) says which tests, and against which server:

    files:  [jstests/core/*.js]       patterns below the checkout
    exclude: [jstests/core/x.js]      with a reason as a comment
    server: {arguments: [...]}        how its servers are started; without it the tests start their own
            login: true               the tests log in as a root user, who is made first
            program: freshetd-sim     another server than freshetd; those that tests start are of the same kind
            rdma: true                of freshetd-sim: tests come over RDMA, on adapters in the server's memory (--simRdma)
            faults: [...]             for freshetd-sim (testing/sim/fault_text.h), drawn by FRESHET_SEED; nobody may
                                      notice them, and each must happen to a server of the suite
    shell:  {arguments: [...], options: "compressors=zstd", socket: true}    options: of the connection string
    prelude: "..."                    JavaScript run before each test

Each job has a server of its own and a database for each test. One line per test; the log of a test that
failed is shown and kept. The last line is "N passed, N failed, N skipped".
"""
import argparse
import ast
import concurrent.futures
import fnmatch
import glob
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'buildscripts', 'tests'))
sys.dont_write_bytecode = True
import harness  # noqa: E402

SKIP_CODE = 42  # jstest.js: quitSkipped()
LOGIN = 'root:sesame'
TEST_SECONDS = 120
LOG_TAIL = 6000
RDMA_DOOR = re.compile(r'Waiting for drivers on 127\.0\.0\.1:(\d+)')
RDMA_DOOR_SECONDS = 60
FIRED = re.compile(r'^fault (\w+)[\w ]* in (\w+) of (\S+)', re.MULTILINE)  # a rule's second, first and third word


def read_suite(name):
    """The small part of YAML that suites use: `key: value` lines, lists as `- item` or [a, b], nesting by two spaces."""
    path = name if os.path.exists(name) else os.path.join(ROOT, 'etc', 'suites', name + '.yml')
    suite, stack = {}, []
    with open(path, encoding='utf-8') as lines:
        for number, line in enumerate(lines, 1):
            bare = line.split(' #')[0].rstrip()
            if not bare.strip() or bare.lstrip().startswith('#'):
                continue
            depth = (len(bare) - len(bare.lstrip())) // 2
            bare = bare.strip()
            stack = stack[:depth]
            if bare.startswith('- '):
                stack[-1][0][stack[-1][1]] = (stack[-1][0][stack[-1][1]] or []) + [scalar(bare[2:])]
                continue
            key, colon, value = bare.partition(':')
            if not colon:
                raise SystemExit('%s:%d: this is no "key: value"' % (path, number))
            place = inner(suite, stack)
            place[key.strip()] = scalar(value.strip()) if value.strip() else None
            stack.append((place, key.strip()))
    return suite


def inner(suite, stack):
    """The mapping that the next key belongs to."""
    if not stack:
        return suite
    place, key = stack[-1]
    if place[key] is None:
        place[key] = {}
    return place[key]


def scalar(text):
    if text in ('true', 'false'):
        return text == 'true'
    if text.startswith('['):
        return [item.strip().strip('"\'') for item in text[1:-1].split(',') if item.strip()]
    if text[:1] in '"\'':
        return ast.literal_eval(text)
    return int(text) if text.lstrip('-').isdigit() else text


def tests_of(suite):
    found = {path for pattern in suite['files'] for path in glob.glob(os.path.join(ROOT, pattern))}
    left = {path for pattern in suite.get('exclude') or [] for path in glob.glob(os.path.join(ROOT, pattern))}
    return sorted(os.path.relpath(path, ROOT) for path in found - left)


class Job:
    """A server, when the suite has one, and the shells that run tests against it."""

    def __init__(self, suite, folder, number):
        self.suite, self.folder = suite, folder
        self.server = None
        self.settings = suite.get('server') or {}
        self.program = self.settings.get('program') or 'freshetd'
        self.faults = self.settings.get('faults') or []
        self.is_rdma = self.settings.get('rdma', False)
        self.input = os.path.join(folder, 'faults')
        with open(self.input, 'w', encoding='utf-8') as lines:
            lines.writelines(line + '\n' for line in self.faults)
        if suite.get('server') is not None:
            self.directory = os.path.join(folder, 'server%d' % number)
            self.start()

    def start(self):
        os.makedirs(self.directory, exist_ok=True)
        words = ['--unixSocketPrefix', self.folder] + ['--simRdma'] * self.is_rdma + (self.settings.get('arguments') or [])
        self.server = harness.Server(binary=self.program, directory=self.directory, arguments=words)
        with open(self.input, 'rb') as self.server.stdin:
            self.server.start()
        self.port = self.rdma_port() if self.is_rdma else self.server.port
        self.socket = os.path.join(self.folder, 'mongodb-%d.sock' % self.server.port)
        if self.logs_in() and not os.path.exists(os.path.join(self.directory, 'has-user')):
            name, word = LOGIN.split(':')
            make = "db.createUser({user: '%s', pwd: '%s', roles: ['root']})" % (name, word)
            subprocess.run([harness.program('freshet'), '--norc', '--quiet', self.server.uri + 'admin', '--eval', make],
                           check=True, stdout=subprocess.DEVNULL)
            open(os.path.join(self.directory, 'has-user'), 'w', encoding='utf-8').close()

    def rdma_port(self):
        """Where those come in who shall go over RDMA: the server's log says it, a moment after it serves."""
        deadline = time.monotonic() + RDMA_DOOR_SECONDS
        while time.monotonic() < deadline and self.alive():
            doors = RDMA_DOOR.findall(self.server.log_text())
            if doors:
                return int(doors[-1])
            time.sleep(0.02)
        raise SystemExit('the server has no door for RDMA:\n' + self.server.log_text()[-LOG_TAIL:])

    def logs_in(self):
        return self.settings.get('login', False)

    def alive(self):
        return self.server is None or self.server.process.poll() is None

    def uri(self, database):
        if self.server is None:
            return ['--nodb']
        shell = self.suite.get('shell') or {}
        place = self.socket.replace('/', '%2F') if shell.get('socket') else '127.0.0.1:%d' % self.port
        options = [text for text in (shell.get('options'), 'authSource=admin' if self.logs_in() else None) if text]
        return ['mongodb://%s%s/%s?%s' % (LOGIN + '@' if self.logs_in() else '', place, database, '&'.join(options))]

    def run(self, path):
        """(outcome, seconds, log path); outcome is ok, FAILED or skipped."""
        name = os.path.splitext(os.path.basename(path))[0]
        log = os.path.join(self.folder, path.replace('/', '-') + '.log')
        shell = self.suite.get('shell') or {}
        command = [harness.program('freshet'), '--norc', '--quiet'] + self.uri('test_' + name[:40]) + (shell.get('arguments') or [])
        login = 'TestData.login = %r; ' % LOGIN if self.logs_in() else ''
        prelude = 'TestData.testName = %r; %s%s; undefined' % (name, login, self.suite.get('prelude') or '')
        began = time.monotonic()
        with open(log, 'wb') as out:
            try:
                code = subprocess.run(command + ['--eval', prelude, path], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, timeout=TEST_SECONDS,
                                      env=dict(os.environ, FRESHET_SERVER=harness.program(self.program), TMPDIR=self.folder,
                                               FRESHET_SERVER_INPUT=self.input)).returncode
            except subprocess.TimeoutExpired:
                code = 'no end after %d s' % TEST_SECONDS
        took = time.monotonic() - began
        if not self.alive():
            with open(log, 'a', encoding='utf-8') as out:
                out.write('\nthe server ended with %s:\n%s' % (self.server.process.returncode, self.server.log_text()[-LOG_TAIL:]))
            self.start()
            return 'FAILED', took, log
        return {0: 'ok', SKIP_CODE: 'skipped'}.get(code, 'FAILED'), took, log

    def fired(self, fault):
        """How often it happened to the suite's server."""
        operation, path, kind = fault.split()[:3]
        return sum(kind == what and operation == where and fnmatch.fnmatch(name, path)
                   for what, where, name in FIRED.findall(self.server.log_text()))

    def end(self):
        if self.server is not None and self.alive():
            self.server.stop()


def tail_of(log):
    with open(log, encoding='utf-8', errors='replace') as text:
        return text.read()[-LOG_TAIL:]


def run_suite(name, only, jobs):
    """(passed, failed, skipped) of one suite."""
    suite = read_suite(name)
    tests = [test for test in tests_of(suite) if not only or any(word in test for word in only)]
    folder = tempfile.mkdtemp(prefix='freshet-smoke-')
    counts = {'ok': 0, 'FAILED': 0, 'skipped': 0}
    free = queue.Queue()
    for number in range(min(jobs, max(len(tests), 1))):
        free.put(Job(suite, folder, number))
    made = list(free.queue)

    def run(path):
        job = free.get()
        try:
            return (path,) + job.run(path)
        finally:
            free.put(job)

    with concurrent.futures.ThreadPoolExecutor(len(made)) as pool:
        for path, outcome, took, log in pool.map(run, tests):
            counts[outcome] += 1
            why = ': ' + tail_of(log).strip().splitlines()[-1] if outcome == 'skipped' else ''
            print('%-7s %-60s %6.2f s%s' % (outcome, name + ' ' + path, took, why), flush=True)
            if outcome == 'FAILED':
                print(tail_of(log))
                print('again: buildscripts/smoke.py --suite=%s %s   (log: %s)' % (name, path, log), flush=True)
    for job in made:
        job.end()
    if not only:
        for fault in made[0].faults:
            times = sum(job.fired(fault) for job in made)
            counts['ok' if times else 'FAILED'] += 1
            print('%-7s %-60s %6d times' % ('ok' if times else 'FAILED', name + ' ' + fault, times), flush=True)
    if not counts['FAILED']:
        shutil.rmtree(folder, ignore_errors=True)
    return counts['ok'], counts['FAILED'], counts['skipped']


def suites():
    return sorted(os.path.splitext(os.path.basename(path))[0] for path in glob.glob(os.path.join(ROOT, 'etc', 'suites', '*.yml')))


def main():
    parser = argparse.ArgumentParser(prog='buildscripts/smoke.py', description='Runs jstests/.')
    parser.add_argument('--suite', action='append', help='of %s; all of them unless told' % ', '.join(suites()))
    parser.add_argument('--jobs', type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument('tests', nargs='*', help='only tests whose path has one of these words')
    options = parser.parse_args()
    os.environ['FRESHET_SEED'] = str(harness.seed())
    totals = [0, 0, 0]
    for name in options.suite or suites():
        totals = [a + b for a, b in zip(totals, run_suite(name, options.tests, options.jobs))]
    print('%d passed, %d failed, %d skipped' % tuple(totals))
    sys.exit(1 if totals[1] or not totals[0] else 0)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How an operator runs freshetd: configuration file, log file and its rotation, background, process id file,
signals, exit codes."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402


def lines_of(path):
    """The JSON objects of a log file. Every line must be one."""
    with open(path, encoding='utf-8') as log:
        return [json.loads(line) for line in log]


def ids_of(path):
    return [line['id'] for line in lines_of(path)] if os.path.exists(path) else []


def wait_for(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError('%s did not happen in %d s' % (what, seconds))
        time.sleep(0.02)


class OperationTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='freshet-test-')
        self.addCleanup(shutil.rmtree, self.directory)
        self.db = self.path('db')
        os.mkdir(self.db)
        self.log = self.path('freshetd.log')
        self.port = harness.free_port()

    def path(self, name):
        return os.path.join(self.directory, name)

    def config(self, extra='', rotate='rename'):
        path = self.path('freshet.conf')
        with open(path, 'w', encoding='utf-8') as out:
            out.write('storage: {dbPath: %s}\n'
                      'systemLog: {destination: file, path: %s, logAppend: true, logRotate: %s}\n'
                      'net: {port: %d, unixDomainSocket: {enabled: false}}\n%s'
                      % (self.db, self.log, rotate, self.port, extra))
        return path

    def start(self, *arguments):
        process = subprocess.Popen([harness.program('freshetd'), *arguments], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.stdout.close)
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        wait_for(lambda: 23016 in ids_of(self.log) or process.poll() is not None, 'the start')
        self.assertIsNone(process.poll(), 'the server ended')
        return process

    def client(self):
        pymongo = harness.import_pymongo()
        client = pymongo.MongoClient('127.0.0.1', self.port)
        self.addCleanup(client.close)
        return client

    def run_it(self, *arguments):
        return subprocess.run([harness.program('freshetd'), *arguments], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)

    def test_configuration_file_and_log(self):
        process = self.start('--config', self.config('setParameter: {enableTestCommands: true}\n'))
        client = self.client()
        client.test.c.insert_one({'a': 1})
        parsed = client.admin.command('getCmdLineOpts')['parsed']
        self.assertEqual(parsed['storage'], {'dbPath': self.db})
        self.assertEqual(parsed['net']['port'], self.port)
        self.assertEqual(parsed['systemLog']['destination'], 'file')
        warnings = client.admin.command('getLog', 'startupWarnings')['log']
        self.assertIn(22120, [json.loads(line)['id'] for line in warnings])
        client.close()
        process.terminate()
        self.assertEqual(process.wait(60), 0)

        lines = lines_of(self.log)
        for line in lines:
            self.assertEqual(list(line)[:6], ['t', 's', 'c', 'id', 'ctx', 'msg'])
        by_id = {line['id']: line for line in lines}
        self.assertEqual(by_id[4615611]['attr']['port'], self.port)
        self.assertEqual(by_id[23016]['msg'], 'Waiting for connections')
        self.assertEqual(by_id[23016]['attr'], {'port': self.port, 'ssl': 'off'})
        self.assertIn('127.0.0.1:', by_id[22943]['attr']['remote'])
        self.assertEqual(by_id[22120]['tags'], ['startupWarnings'])
        order = [line['id'] for line in lines]
        for earlier, later in ((4615611, 23016), (23016, 22943), (22943, 22944), (23377, 20565), (20565, 23138)):
            self.assertLess(order.index(earlier), order.index(later))
        self.assertEqual(by_id[23138]['attr']['exitCode'], 0)

    def test_the_log_names_freshet_and_its_checkpoints(self):
        process = self.start('--config', self.config(), '-v')
        client = self.client()
        client.test.c.insert_one({'a': 1})
        client.admin.command('fsync')
        client.close()
        process.terminate()
        self.assertEqual(process.wait(60), 0)
        with open(self.log, encoding='utf-8') as log:
            lines = [json.loads(line) for line in log]
        self.assertEqual(lines[0]['msg'], 'Freshet starting')
        self.assertEqual(lines[1]['msg'], 'MongoDB starting')  # scripts wait for it
        made = [line for line in lines if line['msg'] == 'Checkpoint made']
        self.assertTrue(made)
        self.assertEqual({line['s'] for line in made}, {'D1'})
        self.assertIn('durationMillis', made[0]['attr'])

    def test_a_low_limit_of_open_files_is_warned_of(self):
        for connections, warned in ((20, False), (5000, True)):
            process = subprocess.Popen(['sh', '-c', 'ulimit -n 1000 && exec "$@"', 'sh', harness.program('freshetd'), '--config',
                                        self.config(), '--maxConns', str(connections)], stdin=subprocess.DEVNULL)
            self.addCleanup(lambda process=process: process.poll() is None and (process.kill(), process.wait()))
            wait_for(lambda: 23016 in ids_of(self.log) or process.poll() is not None, 'the start')
            with self.client() as client:
                lines = [json.loads(line) for line in client.admin.command('getLog', 'startupWarnings')['log']]
            self.assertEqual(22184 in [line['id'] for line in lines], warned, lines)
            process.terminate()
            self.assertEqual(process.wait(60), 0)
            os.remove(self.log)

    def test_rotation_renames(self):
        process = self.start('--config', self.config())
        process.send_signal(signal.SIGUSR1)
        wait_for(lambda: glob.glob(self.log + '.2*'), 'the rotation')
        wait_for(lambda: os.path.exists(self.log), 'the new log')
        old, = glob.glob(self.log + '.2*')
        self.assertIn(23016, ids_of(old))
        process.terminate()
        self.assertEqual(process.wait(60), 0)
        self.assertNotIn(23016, ids_of(self.log))
        self.assertIn(23138, ids_of(self.log))

    def test_rotation_reopens(self):
        process = self.start('--config', self.config(rotate='reopen'))
        os.rename(self.log, self.path('moved'))
        process.send_signal(signal.SIGUSR1)
        wait_for(lambda: os.path.exists(self.log), 'the new log')
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(60), 0)
        self.assertIn(23016, ids_of(self.path('moved')))
        self.assertIn(20565, ids_of(self.log))

    def test_background_with_process_id_file_and_shutdown(self):
        pid_file = self.path('pid')
        done = self.run_it('--config', self.config(), '--fork', '--pidfilepath', pid_file)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(pid_file, encoding='utf-8') as text:
            pid = int(text.read())
        self.addCleanup(lambda: os.path.exists(pid_file) and os.kill(pid, signal.SIGKILL))
        self.assertIn('forked process: %d' % pid, done.stdout)
        self.assertIn('child process started successfully, parent exiting', done.stdout)
        with self.client() as client:
            self.assertEqual(client.admin.command('ping')['ok'], 1)  # ready at once
        done = self.run_it('--dbpath', self.db, '--shutdown')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(str(pid), done.stdout)
        wait_for(lambda: not os.path.exists(pid_file), 'the removal of the process id file')
        self.assertIn(23138, ids_of(self.log))
        self.assertNotEqual(self.run_it('--dbpath', self.db, '--shutdown').returncode, 0)

    def test_failure_in_the_background_is_reported(self):
        done = self.run_it('--config', self.config(), '--fork', '--dbpath', self.path('none'))
        self.assertEqual(done.returncode, 100)
        self.assertIn('exited with 100', done.stdout)
        failure, = [line for line in lines_of(self.log) if line['id'] == 20557]
        self.assertIn(self.path('none'), failure['attr']['error'])

    def test_bad_configuration_ends_with_2(self):
        done = self.run_it('--config', self.config('bogus: {option: 1}\n'))
        self.assertEqual(done.returncode, 2)
        self.assertIn('Unrecognized option: bogus', done.stderr)
        self.assertEqual(self.run_it('--config', self.path('none')).returncode, 2)

    def test_log_that_cannot_be_written_ends_with_1(self):
        done = self.run_it('--dbpath', self.db, '--logpath', self.path('none/log'))
        self.assertEqual(done.returncode, 1)
        self.assertIn('none/log', done.stderr)

    def test_sample_configuration_is_read(self):
        sample = os.path.join(harness.ROOT, 'etc', 'freshet.conf')
        done = self.run_it('--config', sample, '--dbpath', self.path('none'), '--logpath', self.log)
        self.assertEqual(done.returncode, 100, done.stderr)  # read, and then the directory is not there


if __name__ == '__main__':
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The server as a process: doors, directories, ports, signals and exit codes; the shell from outside; the
benchmark's rows."""
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402


def run(name, *arguments, stdin='', seconds=60):
    return subprocess.run([harness.program(name), *arguments], input=stdin, capture_output=True, text=True, timeout=seconds)


def run_quietly(*words):
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


class DoorsTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix='freshet-test-')
        self.addCleanup(shutil.rmtree, self.directory)

    def refused(self, code, words, *arguments):
        done = run('freshetd', *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(words, done.stdout + done.stderr)

    def test_the_manual_names_every_option(self):
        offered = re.findall(r'^ +(--\w[\w-]*)', run('freshetd', '--help').stdout, re.MULTILINE)
        self.assertGreater(len(offered), 40)
        with open(os.path.join(harness.ROOT, 'docs', 'OPTIONS.md'), encoding='utf-8') as manual:
            named = set(re.findall(r'--\w[\w-]*', manual.read()))
        self.assertEqual(set(offered) - named, set())

    def test_only_loopback_without_authentication(self):
        port = str(harness.free_port())
        self.refused(2, '--unsafe-listen-without-auth', '--dbpath', self.directory, '--port', port, '--bind_ip', '0.0.0.0')
        self.refused(2, '--unsafe-listen-without-auth', '--dbpath', self.directory, '--port', port, '--bind_ip', '127.0.0.1,::')

    def test_the_explicit_flag_opens_the_door(self):
        with harness.Server(arguments=['--bind_ip', '0.0.0.0', '--unsafe-listen-without-auth']) as server:
            self.assertEqual(server.client().admin.command('ping')['ok'], 1)
            self.assertIn('without', server.log_text())

    def test_a_second_server_on_one_directory(self):
        with harness.Server() as server:
            self.refused(100, str(server.process.pid), '--dbpath', os.path.join(server.directory, 'db'),
                         '--port', str(harness.free_port()))
            self.assertEqual(server.client().admin.command('ping')['ok'], 1)

    def test_a_directory_that_cannot_be_written(self):
        path = os.path.join(self.directory, 'file')
        with open(path, 'w', encoding='utf-8'):
            pass
        self.refused(100, path, '--dbpath', path, '--port', str(harness.free_port()))
        self.refused(100, '/proc/1', '--dbpath', '/proc/1/nowhere', '--port', str(harness.free_port()))

    def ended(self, done, code, *words):
        """What it said, once, in the log or on standard error; no abort."""
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, said[-3000:])
        self.assertNotIn('terminate called', said)
        for word in words:
            self.assertIn(word, said)

    def started_with(self, limits, *arguments, seconds=60):
        """It is told to end after a while, if it does not end by itself."""
        return subprocess.run(['bash', '-c', limits + '; exec timeout --preserve-status 8 "$@"', 'bash', harness.program('freshetd'), '--dbpath', self.directory,
                               '--port', str(harness.free_port()), *arguments], capture_output=True, text=True, timeout=seconds)

    def test_few_open_files(self):
        for files in (8, 16, 40):
            with self.subTest(files=files):
                self.ended(self.started_with('ulimit -n %d' % files), 1, 'ulimit -n', str(files))
        self.assertNotIn('journal', os.listdir(self.directory))  # nothing had begun

    def test_enough_open_files_to_begin(self):
        # With two reactors it needs 56; what is left is for connections.
        with harness.Server(arguments=['--reactors', '2']) as server:
            server.stop()
            server.process = subprocess.Popen(['bash', '-c', 'ulimit -n 64; exec "$@"', 'bash', *server.command()], stdout=subprocess.DEVNULL)
            deadline = time.monotonic() + 60
            while run('freshet', '--port', str(server.port), '--ping').returncode != 0:
                self.assertIsNone(server.process.poll())
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            with server.client() as client:
                client.test.c.insert_one({'a': 1})
            self.assertEqual(server.stop(), 0)

    def test_little_memory(self):
        for megabytes in (64, 110, 140):
            with self.subTest(megabytes=megabytes):
                done = self.started_with('ulimit -v %d' % (megabytes * 1024), '--reactors', '1')
                self.assertIn(done.returncode, (0, 1, 100, 127), done.stdout + done.stderr)
                self.assertNotIn('terminate called', done.stdout + done.stderr)
                self.assertTrue(done.stdout + done.stderr)

    def test_a_read_only_directory(self):
        if os.geteuid() != 0 or run_quietly('mount', '-t', 'tmpfs', '-o', 'ro,size=1m', 'none', self.directory) != 0:
            self.skipTest('nothing can be mounted here')
        try:
            self.ended(self.started_with('true'), 100, self.directory, 'Read-only file system')
        finally:
            run_quietly('umount', self.directory)

    def test_without_proc(self):
        """It starts, or says what it misses."""
        if os.geteuid() != 0 or run_quietly('unshare', '-m', 'umount', '-l', '/proc') != 0:
            self.skipTest('/proc cannot be taken away here')
        done = subprocess.run(['unshare', '-m', 'bash', '-c', 'umount -l /proc && exec timeout -s TERM 5 "$@"', 'bash',
                               harness.program('freshetd'), '--dbpath', self.directory, '--port', str(harness.free_port())],
                              capture_output=True, text=True, timeout=60)
        self.assertIn('Waiting for connections', done.stdout + done.stderr)
        self.assertIn('Closed the data directory', done.stdout + done.stderr)

    def test_another_programs_files(self):
        for name, program in (('WiredTiger.wt', 'mongodump'), ('mongod.lock', 'mongorestore'), ('PG_VERSION', 'PostgreSQL'),
                              ('MANIFEST-000004', 'RocksDB'), ('holiday.jpg', '--allowForeignFiles'), ('base/', 'base')):
            with self.subTest(name=name):
                path = os.path.join(self.directory, name)
                os.makedirs(path) if name.endswith('/') else open(path, 'w', encoding='utf-8').close()
                self.refused(100, name.rstrip('/'), '--dbpath', self.directory, '--port', str(harness.free_port()))
                self.refused(100, program, '--dbpath', self.directory, '--port', str(harness.free_port()))
                self.assertEqual(os.listdir(self.directory), [name.rstrip('/')])  # nothing was made there
                shutil.rmtree(path) if name.endswith('/') else os.remove(path)

    def test_files_that_do_no_harm(self):
        db = os.path.join(self.directory, 'db')
        os.makedirs(os.path.join(db, 'lost+found'))
        for name in ('.hidden', 'freshetd.log', 'freshetd.log.2026-01-01T00-00-00', 'server.pid', 'server.pem', 'freshetd.conf'):
            with open(os.path.join(db, name), 'w', encoding='utf-8'):
                pass
        with harness.Server(directory=self.directory) as server:
            self.assertEqual(server.stop(), 0)
        # Who has begun there may go on, whatever comes later; and who insists may begin.
        for name in ('mongod.lock', 'holiday.jpg'):
            with open(os.path.join(db, name), 'w', encoding='utf-8'):
                pass
        with harness.Server(directory=self.directory) as server:
            self.assertEqual(server.stop(), 0)
        for name in ('freshet.id', 'data.freshet'):
            os.remove(os.path.join(db, name))
        shutil.rmtree(os.path.join(db, 'journal'))
        with harness.Server(directory=self.directory, arguments=['--allowForeignFiles']) as server:
            self.assertEqual(server.stop(), 0)

    def test_a_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.refused(48, str(port), '--dbpath', self.directory, '--port', str(port))

    def test_an_unknown_option(self):
        self.refused(2, 'nosuch', '--nosuch', '1')

    def test_signals_end_with_0(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with harness.Server() as server:
                server.client().test.c.insert_one({'a': 1})
                server.process.send_signal(number)
                self.assertEqual(server.process.wait(30), 0)

    def test_the_shutdown_command_ends_with_0(self):
        pymongo = harness.import_pymongo()
        with harness.Server() as server:
            try:
                server.client().admin.command('shutdown')
            except pymongo.errors.AutoReconnect:
                pass
            self.assertEqual(server.process.wait(30), 0)

    def test_damage_of_acknowledged_data_is_refused(self):
        with harness.Server() as server:
            client = server.client()
            for i in range(50):
                client.test.c.insert_one({'_id': i, 'pad': 'x' * 5000})
            client.close()
            server.kill()  # a clean end would make a checkpoint, which needs nothing of the journal
            folder = os.path.join(server.directory, 'db', 'journal')
            segment = os.path.join(folder, sorted(name for name in os.listdir(folder) if name.startswith('j.'))[0])
            with open(segment, 'r+b') as data:
                data.seek(64 * 1024)
                damaged = bytes(byte ^ 0x55 for byte in data.read(4096))
                data.seek(64 * 1024)
                data.write(damaged)
            done = subprocess.run(server.command(), capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(os.path.basename(segment), done.stdout + done.stderr)

    def test_an_idle_server_uses_no_processor(self):
        with harness.Server() as server:
            def ticks():
                with open('/proc/%d/stat' % server.process.pid, encoding='utf-8') as stat:
                    fields = stat.read().rsplit(')', 1)[1].split()
                return int(fields[11]) + int(fields[12])
            before = ticks()
            time.sleep(2)
            self.assertLessEqual(ticks() - before, 4, 'more than 2 percent of a core while idle')


class ShellTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server().start()
        cls.addClassCleanup(cls.server.__exit__)
        cls.port = str(cls.server.port)

    def test_ping(self):
        self.assertEqual(run('freshet', '--port', self.port, '--ping').returncode, 0)
        done = run('freshet', '--port', str(harness.free_port()), '--ping')
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('127.0.0.1', done.stderr)

    def test_eval(self):
        done = run('freshet', '--port', self.port, '--eval', '{"ping":1}')
        self.assertEqual((done.returncode, json.loads(done.stdout)['ok']), (0, 1.0))
        done = run('freshet', self.server.uri + 'shop', '--eval', '{"insert":"c","documents":[{"_id":1,"n":{"$numberLong":"5"}}]}',
                   '--eval', '{"find":"c","filter":{"_id":1}}')
        replies = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(replies[0]['n'], 1)
        self.assertEqual(replies[1]['cursor']['firstBatch'], [{'_id': 1, 'n': 5}])
        self.assertEqual(replies[1]['cursor']['ns'], 'shop.c')

    def test_eval_of_an_error(self):
        done = run('freshet', '--port', self.port, '--eval', '{"nosuch":1}')
        self.assertEqual(done.returncode, 1)
        self.assertIn('CommandNotFound', done.stdout + done.stderr)
        self.assertNotEqual(run('freshet', '--port', self.port, '--eval', '{bad').returncode, 0)

    def test_a_script_from_standard_input(self):
        done = run('freshet', '--port', self.port, stdin='use other\n{"insert": "c",\n "documents": [{"_id": 7}]}\n{"count": "c"}\n')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"n":1', done.stdout.replace(' ', ''))

    def test_a_terminal_session(self):
        try:
            child, terminal = pty.fork()
        except OSError as error:
            self.skipTest('no pseudo-terminal to be had here: %s' % error)
        if child == 0:
            os.execv(harness.program('freshet'), ['freshet', '--port', self.port])
        seen = b''

        def until(words):
            nonlocal seen
            deadline = time.monotonic() + 20
            while words not in seen:
                ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
                self.assertTrue(ready, 'no %r in %r' % (words, seen))
                seen += os.read(terminal, 4096)
            seen = seen.split(words, 1)[1]

        until(b'> ')
        os.write(terminal, b'{"hello": 1}\n')
        until(b'maxWireVersion')
        until(b'> ')
        os.write(terminal, b'use shop\n')
        until(b'shop> ')
        os.write(terminal, b'exit\n')
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


class BenchTest(unittest.TestCase):
    def test_rows(self):
        harness.need('freshet-bench')
        done = run('freshet-bench', 'wire', '--op', 'put', '--value-bytes', '1024', '--clients', '1', '--clients', '8',
                   '--seconds', '1', '--with-echo', '--json', seconds=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{')]
        self.assertEqual({(row['op'], row['clients']) for row in rows}, {('put', 1), ('put', 8), ('echo', 1), ('echo', 8)})
        for row in rows:
            for field in ('ops_per_s', 'server_cpu_us_per_op', 'p50_us', 'p99_us'):
                self.assertGreater(row[field], 0, row)
            self.assertLessEqual(row['p50_us'], row['p99_us'])


if __name__ == '__main__':
    unittest.main()

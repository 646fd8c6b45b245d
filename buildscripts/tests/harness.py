# SPDX-License-Identifier: Apache-2.0
"""What the driver tests share: pymongo in a virtual environment, a server on a directory of its own, the
seed."""
import contextlib
import fcntl
import glob
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Another folder of programs may be tried: FRESHET_PROGRAMS.
RELEASE = os.environ.get('FRESHET_PROGRAMS') or os.path.join(ROOT, 'build', 'release')


def program(name):
    return os.path.join(RELEASE, name)


def need(name):
    """Skips the calling test where a program is not built that only `buildscripts/test --full` builds."""
    if not os.path.exists(program(name)):
        raise unittest.SkipTest('%s is not built; the full command builds it' % name)


@contextlib.contextmanager
def alone(name):
    """One process of this checkout at a time: test files run beside each other, and some fetch the same things."""
    os.makedirs(os.path.join(ROOT, 'build'), exist_ok=True)
    with open(os.path.join(ROOT, 'build', name + '.lock'), 'w', encoding='utf-8') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def import_pymongo():
    """The newest pymongo, installed once into build/venv."""
    venv = os.path.join(ROOT, 'build', 'venv')
    marker = os.path.join(venv, 'installed')
    if not os.path.exists(marker):
        subprocess.run([sys.executable, '-m', 'venv', '--clear', venv], check=True)
        subprocess.run([os.path.join(venv, 'bin', 'pip'), 'install', '-q', '--upgrade', 'pymongo'], check=True)
        with open(marker, 'w', encoding='utf-8'):
            pass
    for path in glob.glob(os.path.join(venv, 'lib', 'python3*', 'site-packages')):
        if path not in sys.path:
            sys.path.insert(0, path)
    import pymongo
    return pymongo


def seed():
    """The run's seed: FRESHET_SEED replays one."""
    value = int(os.environ.get('FRESHET_SEED') or random.SystemRandom().randrange(1 << 32))
    print('FRESHET_SEED=%d' % value, flush=True)
    return value


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Server:
    """A freshetd of its own. Use as a context manager; `directory` is kept when given."""

    def __init__(self, binary='freshetd', directory=None, arguments=()):
        self.binary, self.arguments = program(binary), list(arguments)
        self.owned = directory is None
        self.directory = directory or tempfile.mkdtemp(prefix='freshet-test-')
        self.port = free_port()
        self.process = None
        self.stdin, self.environment = subprocess.DEVNULL, {}
        self.log = os.path.join(self.directory, 'server.log')

    def command(self):
        return [self.binary, '--dbpath', os.path.join(self.directory, 'db'), '--port', str(self.port)] + self.arguments

    def start(self, seconds=60):
        os.makedirs(os.path.join(self.directory, 'db'), exist_ok=True)
        with open(self.log, 'ab') as log:
            self.process = subprocess.Popen(self.command(), stdin=self.stdin, stdout=log, stderr=log,
                                            env=dict(os.environ, **self.environment))
        deadline = time.monotonic() + seconds
        while subprocess.run([program('freshet'), '--port', str(self.port), '--ping'], capture_output=True).returncode != 0:
            if self.process.poll() is not None:
                raise AssertionError('the server ended with %s:\n%s' % (self.process.returncode, self.log_text()[-4000:]))
            if time.monotonic() > deadline:
                raise AssertionError('the server is not ready after %d s:\n%s' % (seconds, self.log_text()[-4000:]))
            time.sleep(0.02)
        return self

    def processor_seconds(self):
        """What the server has used, its threads together."""
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def log_text(self):
        with open(self.log, encoding='utf-8', errors='replace') as text:
            return text.read()

    @property
    def uri(self):
        return 'mongodb://127.0.0.1:%d/' % self.port

    def client(self, **options):
        return import_pymongo().MongoClient(self.uri, **options)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, seconds=30):
        """SIGTERM; returns the exit code."""
        self.process.terminate()
        return self.process.wait(seconds)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        if self.owned:
            shutil.rmtree(self.directory, ignore_errors=True)

# SPDX-License-Identifier: Apache-2.0
"""A server to be attacked: with a small stack, and with its processor time and ends watched."""
import os
import resource
import subprocess
import time

import harness
from generator import DB, fill, is_internal
from raw_bson import MESSAGE_BYTES_MAX, Connection, message

SMALL_STACK = 1 << 20


class Outcome:
    """What became of an input: 'ok', 'error', 'internal' (a code that no input may cause), 'hung up', 'late', 'ended'."""

    def __init__(self, kind, text='', code=0, seconds=0.0, cpu=0.0):
        self.kind, self.text, self.code, self.seconds, self.cpu = kind, text, code, seconds, cpu

    @property
    def is_bad(self):
        return self.kind not in ('ok', 'error')

    def __str__(self):
        return '%s %s %s (%.2f s, %.2f s of processor)' % (self.kind, self.code or '', self.text[:200], self.seconds, self.cpu)


class Target:
    """A freshetd that is started again when an input has ended it. An input is late that takes more than `seconds` of processor
    time, or more than `patience` times as long on the clock: the machine may have other things to do."""

    def __init__(self, arguments=(), stack=SMALL_STACK, seconds=20, port=None, patience=1):
        self.arguments, self.stack, self.seconds, self.patience = list(arguments), stack, seconds, patience
        self.port = port or int(os.environ.get('FRESHET_PORT') or 0)
        self.server, self.connection, self.bystander, self.restarts = None, None, None, 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        for connection in (self.connection, self.bystander):
            if connection:
                connection.close()
        if self.server:
            self.server.__exit__()

    def start(self):
        self.__exit__()
        self.server = harness.Server(arguments=['--setParameter', 'enableTestCommands=1'] + self.arguments)
        if self.port:
            self.server.port = self.port
        soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
        resource.setrlimit(resource.RLIMIT_STACK, (self.stack, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        try:
            self.server.start()
        finally:
            resource.setrlimit(resource.RLIMIT_STACK, (soft, hard))
        self.connection, self.bystander = (Connection(self.server.port, self.patience * self.seconds) for _ in range(2))
        self.fill()

    def fill(self):
        fill(lambda *pairs: self.connection.command(*pairs, db=DB))

    def ask(self, raw, whole=False):
        return self.connection.ask_bytes(raw) if whole else self.connection.ask(raw)

    def cpu(self):
        return self.server.processor_seconds()

    def has_ended(self):
        """Whether the server is ending: a crash closes its sockets before its process can be waited for."""
        try:
            self.server.process.wait(0.5)
        except subprocess.TimeoutExpired:
            return False
        return True

    def restart(self):
        self.restarts += 1
        self.start()

    def send(self, raw):
        """Sends one message; what became of it. A server that has ended or does not answer is started again."""
        before, cpu = time.monotonic(), self.cpu()
        try:
            reply = self.connection.ask(raw)
        except TimeoutError:
            outcome = Outcome('late', seconds=time.monotonic() - before, cpu=self.cpu() - cpu)
            self.restart()
            return outcome
        seconds = time.monotonic() - before
        if reply is None:
            if self.has_ended():
                outcome = Outcome('ended', 'with %d' % self.server.process.returncode, seconds=seconds)
                self.restart()
                return outcome
            return Outcome('hung up', seconds=seconds, cpu=self.cpu() - cpu)
        if self.cpu() - cpu > self.seconds:
            return Outcome('late', seconds=seconds, cpu=self.cpu() - cpu)
        error = first_error(reply)
        if error is None:
            return Outcome('ok', seconds=seconds, cpu=self.cpu() - cpu)
        code, text = error
        kind = 'internal' if is_internal(code, text) else 'error'
        return Outcome(kind, text, code, seconds, self.cpu() - cpu)

    def run(self, case, language):
        """A case's outcome; None where its message would be larger than messages may be."""
        raw = case.message(language)
        return self.send(raw) if len(raw) <= MESSAGE_BYTES_MAX else None

    def ping(self):
        """How long a bystander's ping takes."""
        before = time.monotonic()
        reply = self.bystander.command(('ping', 1))
        if reply is None or reply.get('ok') != 1:
            raise AssertionError('a bystander was not served: %s' % reply)
        return time.monotonic() - before


def first_error(reply):
    """The code and text of a reply's error; None when there is none."""
    if 'writeErrors' in reply:
        import bson
        try:
            error = next(iter(bson.decode(reply['writeErrors'].data).values()))
            return error['code'], error.get('errmsg', '')
        except (bson.errors.InvalidBSON, StopIteration):
            return None, 'unreadable writeErrors'
    return None if reply.get('ok') == 1 else (reply.get('code'), reply.get('errmsg', ''))

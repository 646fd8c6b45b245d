# SPDX-License-Identifier: Apache-2.0
"""The rounds of the crash loop. Each starts the server on what the one before has left, verifies, lets the
writers write, and ends the server in its own way:

  kill     kill -9 of freshetd: what the kernel has, stays
  cut      kill -9 of freshetd-sim: what was not flushed is gone, bytes and names
  leak     as cut, but some of what was not flushed has reached the disk, in sectors
  fatal    a write or flush fails: the server must end by itself with code 14, losing nothing
  passing  the disk is full for a while, writes come in pieces: the server must go on, and heal
  damage   the disk writes something else than it was told: whoever starts next must refuse with code 3 and
           name the place, or refuse whoever reads what is damaged and name the place in the log, or else
           everything must be there. A refusal ends with the copy from before the round

Each has two checkpoints at least, beside the one that belongs to the start, and each but kill a fault at least.
Every other one, by chance, has less memory than data, so that leaves are evicted and read again all the time.

Left out on purpose: flushes that lie. Of a disk that says "durable" and forgets, nobody can get back what
was acknowledged, nor notice it in the newest records.
"""
import os
import re
import shutil
import subprocess
import time

import harness

EXIT_DAMAGED, EXIT_WRITE_FAILED = 3, 14
FAULTS_FATAL = ('sync */journal/j.* error nth={few}', 'write */journal/j.* error nth={few}', 'write */journal/j.* short nth={few}',
                'sync */data.freshet error', 'write */data.freshet error nth={one}', 'write */data.freshet short nth={one}')
FAULTS_PASSING = ('write */journal/next.tmp error nospace times={few}', 'open */journal/next.tmp error nospace times={few}',
                  'open */journal/spare.* error nospace times={few}', 'write */data.freshet error nospace growing times={few}',
                  'write */data.freshet late nospace below=8192 times={few}')
FAULT_PIECES = 'write * split chance=0.05 times=0'
FAULTS_JOURNAL_DAMAGE = tuple('write */journal/j.* %s nth={few}' % kind for kind in ('flip', 'misdirect', 'drop', 'torn'))
FAULTS_DATA_DAMAGE = tuple('write */data.freshet %s nth={one}' % kind for kind in ('flip', 'misdirect', 'drop', 'torn'))
CHECKPOINT_SECONDS = 0.1
CHECKPOINTS_MIN = 2  # of a round
LITTLE_MEMORY = ['--memoryLimitGB', '0.001']
FULL = re.compile(r'^fault error in', re.MULTILINE)
FIRED = re.compile(r'^fault (\w+)', re.MULTILINE)
UNREADABLE = re.compile(r'a page cannot be read: .*data\.freshet')
PLACE = re.compile(r'data\.freshet|journal/j\.[0-9a-f]{8} at offset \d+|records from \d+ are missing')


class Lost(AssertionError):
    """Something acknowledged is not there, or something is half there."""


class Round:
    """One round; what differs is in `arrange` (before the start) and `finish` (under load; the server must be
    dead after it)."""
    simulated = True
    checkpoint_seconds = CHECKPOINT_SECONDS

    def __init__(self, server, writers, chance, totals, sim):
        self.server, self.writers, self.chance, self.totals, self.sim = server, writers, chance, totals, sim
        server.binary = harness.program(sim if self.simulated else 'freshetd')
        server.environment = {'FRESHET_SEED': str(chance.randrange(1 << 32))}

    def run(self):
        import crash_loop
        self.arrange()
        self.start()
        self.mark = os.path.getsize(self.server.log)
        client = self.server.client(retryWrites=False, serverSelectionTimeoutMS=10000)
        try:
            crash_loop.verify(client, self.writers)
            self.models = [(writer, dict(writer.acknowledged)) for writer in self.writers]
            with crash_loop.Load(self.server, self.writers) as load:
                self.await_checkpoints(client)
                if self.simulated:
                    self.arm(FAULT_PIECES)
                    self.await_fault(FAULT_PIECES)
                self.finish(client, load)
        finally:
            crash_loop.close_aside(client)
            self.server.process.stdin.close()
        self.totals.count_faults(self.fired(), self.simulated)
        self.account()

    def start(self):
        arguments = list(self.server.arguments)
        self.server.arguments += ['--syncdelay', str(self.checkpoint_seconds)]
        self.server.arguments += LITTLE_MEMORY if self.chance.random() < 0.5 else []
        self.server.stdin = subprocess.PIPE
        try:
            self.server.start()
        except AssertionError as refused:
            self.server.process.stdin.close()
            raise Lost(str(refused)) from refused
        finally:
            self.server.arguments, self.server.stdin = arguments, subprocess.DEVNULL

    def arrange(self):
        pass

    def finish(self, client, load):
        time.sleep(self.chance.uniform(0.1, 0.3))
        self.kill(load)

    def account(self):
        self.totals.count(type(self).__name__.lower())

    # --- Tools ---

    def kill(self, load):
        load.may_die.set()
        load.stop.set()
        self.server.kill()

    def await_checkpoints(self, client):
        """Those since the start; the first may be part of it."""
        deadline = time.monotonic() + 20
        while (told := self.engine(client))['checkpoints'] < 1 + CHECKPOINTS_MIN:
            if time.monotonic() > deadline:
                raise Lost('no checkpoints are taken')
            self.make_checkpoint(client)
        self.totals.checkpoints.append(told['checkpoints'] - 1)
        self.totals.evicted += told['leavesEvicted']
        self.totals.read += told['leavesRead']

    def make_checkpoint(self, client):
        time.sleep(0.02)

    @staticmethod
    def engine(client):
        return client.admin.command('serverStatus')['freshet']['engine']

    def arm(self, line):
        self.fired_before = self.fired(line)
        line = line.format(few=self.chance.randrange(1, 12), one=self.chance.randrange(1, 4))
        self.server.process.stdin.write((line + '\n').encode())
        self.server.process.stdin.flush()
        return line

    def log_since_start(self):
        with open(self.server.log, encoding='utf-8', errors='replace') as log:
            log.seek(self.mark)
            return log.read()

    def fired(self, line=None):
        """All, or of what `line` asks for: pieces, or anything else."""
        kinds = FIRED.findall(self.log_since_start())
        return len(kinds) if line is None else len([kind for kind in kinds if (kind == 'split') == (line == FAULT_PIECES)])

    def await_fault(self, line, seconds=20):
        """One since arm()."""
        deadline = time.monotonic() + seconds
        while self.fired(line) == self.fired_before:
            if time.monotonic() > deadline:
                raise Lost('no fault fired: %s' % line)
            time.sleep(0.01)


class Kill(Round):
    simulated = False


class Cut(Round):
    pass


class Leak(Round):
    def arrange(self):
        self.server.environment['FRESHET_SIM_LEAK'] = '0.3'


class Fatal(Round):
    def finish(self, client, load):
        load.may_die.set()
        line = self.arm(self.chance.choice(FAULTS_FATAL))
        self.await_fault(line)
        code = self.server.process.wait(20)
        if code != EXIT_WRITE_FAILED:
            raise Lost('after %s the server ended with %s: %s' % (line, code, self.log_since_start()[-2000:]))


class Passing(Round):
    """Much is written, so that files have to grow while they must not."""
    pads = (1000, 60000)
    seconds_max = 4

    def arrange(self):
        self.normal_pads = self.writers[0].pads
        for writer in self.writers:
            writer.pads = self.pads

    def finish(self, client, load):
        for line in FAULTS_PASSING:
            self.arm(line)
        deadline = time.monotonic() + self.seconds_max
        while not (full := FULL.search(self.log_since_start())) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(self.chance.uniform(0.1, 0.3))
        self.heal(client)
        if full:
            self.totals.count('full disks')
        self.kill(load)

    def account(self):
        super().account()
        for writer in self.writers:
            writer.pads = self.normal_pads

    def heal(self, client):
        """Whatever was refused: before long writes are taken again."""
        import crash_loop
        pymongo = harness.import_pymongo()
        deadline = time.monotonic() + 30
        while True:
            try:
                client.crash.probe.replace_one({'_id': 0}, {'pad': 'p' * 1000}, upsert=True)
                return
            except pymongo.errors.PyMongoError as error:
                if not crash_loop.is_refusal(error) or time.monotonic() > deadline:
                    raise Lost('a full disk is not forgiven: %s' % error) from error
            time.sleep(0.05)


class Damage(Round):
    """Of the journal: no checkpoint from then on, so that its records are needed, and more records behind the damage,
    which prove that it was durable. Of the data file: many checkpoints."""

    def pick(self):
        return self.chance.random() < 0.5

    def arrange(self):
        self.in_journal = self.pick()
        self.checkpoint_seconds = 3600 if self.in_journal else CHECKPOINT_SECONDS
        self.copy = self.server.directory + '/copy'
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.server.directory + '/db', self.copy)

    def finish(self, client, load):
        if not self.in_journal:
            load.may_die.set()  # with little memory damaged pages are read while the server runs
        self.line = self.arm(self.chance.choice(FAULTS_JOURNAL_DAMAGE if self.in_journal else FAULTS_DATA_DAMAGE))
        self.await_fault(self.line)
        time.sleep(0.3 if self.in_journal else self.chance.uniform(0, 0.3))
        self.kill(load)

    def make_checkpoint(self, client):
        if self.in_journal:
            client.admin.command('fsync')
        else:
            super().make_checkpoint(client)

    def account(self):
        super().account()
        self.server.binary = harness.program('freshetd' if self.sim == 'freshetd-sim' else self.sim)
        self.mark = os.path.getsize(self.server.log)
        try:
            self.server.start()
        except AssertionError as refused:
            if self.server.process.returncode != EXIT_DAMAGED:
                raise Lost('after %s: %s' % (self.line, refused)) from refused
            if not PLACE.search(self.log_since_start()):
                raise Lost('after %s the refusal names no place: %s' % (self.line, refused)) from refused
            self.totals.count('refusals of journals' if self.in_journal else 'refusals of data files')
            self.restore()
        else:
            # It was overwritten, is needed by nobody, or is met when somebody reads it. The next round verifies
            # what can be read.
            refusal = self.first_refusal()
            self.server.kill()
            if refusal is not None:
                if not UNREADABLE.search(self.log_since_start()):
                    raise Lost('after %s the log names no place: %s' % (self.line, refusal))
                self.totals.count('refusals when read')
                self.restore()

    def first_refusal(self):
        """Of reading everything; None: it can be read."""
        import crash_loop
        errors = harness.import_pymongo().errors
        client = self.server.client(retryWrites=False, serverSelectionTimeoutMS=10000)
        try:
            for name in client.crash.list_collection_names():
                collection = client.crash[name]
                for hint in [[('$natural', 1)], *collection.index_information()]:
                    for _ in collection.find({}, hint=hint):
                        pass
            return None
        except errors.OperationFailure as refused:
            return refused
        finally:
            crash_loop.close_aside(client)

    def restore(self):
        shutil.rmtree(self.server.directory + '/db')
        shutil.move(self.copy, self.server.directory + '/db')
        for writer, model in self.models:
            writer.acknowledged, writer.in_flight = model, None


class DataDamage(Damage):
    def pick(self):
        return False


KINDS = {kind.__name__.lower(): kind for kind in (Kill, Cut, Leak, Fatal, Passing, Damage, DataDamage)}

# SPDX-License-Identifier: Apache-2.0
"""What clients may ask for that takes memory out of all proportion, each as a function of a running server.
Used by driver_ceiling_test.py and by buildscripts/bench_ceiling, which draws the memory over time.

An attack ends by itself within some seconds; what the server answers is not its business, except where it says so."""
import socket
import struct
import threading
import time

import harness
import raw_bson

pymongo = harness.import_pymongo()
import bson  # noqa: E402

CEILING = 0.25  # --memoryLimitGB
# What the issue allows: a quarter beyond the ceiling, and what the programs themselves take.
RESIDENT_MAX = int(1.25 * CEILING * (1 << 30)) + (64 << 20)
BIG = 16_000_000
BIG_DOCUMENTS, SMALL_DOCUMENTS = 30, 200_000


def resident(server):
    with open('/proc/%d/status' % server.process.pid, encoding='utf-8') as status:
        return 1024 * int(next(line for line in status if line.startswith('VmRSS')).split()[1])


def prepare(server):
    """The collections that the attacks use."""
    with server.client() as client:
        client.attack.one.insert_one({'_id': 1, 'from': 0})
        for number in range(BIG_DOCUMENTS):
            client.attack.big.insert_one({'_id': number, 'x': 'x' * BIG})
        for _ in range(SMALL_DOCUMENTS // 50_000):
            client.attack.small.insert_many([{'a': i, 'pad': 'x' * 500} for i in range(50_000)], ordered=False)
        client.attack.wide.insert_many([{'_id': i, 'x': 'x' * 1_000_000} for i in range(20)])


def refused(work):
    """The code with which the server refuses; None: it did what was asked."""
    try:
        work()
    except pymongo.errors.OperationFailure as error:
        return error.code
    return None


def side_by_side(count, work):
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def ranges(server, seconds):
    """Twenty stages that each make three million numbers."""
    stages = [{'$addFields': {'r%d' % i: {'$range': ['$from', 3_000_000]}}} for i in range(20)]
    _aggregates(server, seconds, stages + [{'$project': {'n': {'$size': '$r0'}}}])


def zips(server, seconds):
    _aggregates(server, seconds, [{'$project': {'n': {'$size': {'$zip': {'inputs': [{'$range': ['$from', 3_000_000]}] * 60}}}}}])


def _aggregates(server, seconds, pipeline):
    until = time.monotonic() + seconds

    def work(_):
        with server.client() as client:
            while time.monotonic() < until:
                code = refused(lambda: list(client.attack.one.aggregate(pipeline)))
                if code != 146:
                    raise AssertionError('expected ExceededMemoryLimit, not %s' % code)
    side_by_side(4, work)


def half_messages(server, seconds):
    """A hundred connections that have sent 40 MB of 48 and go on no further."""
    chunk = b'x' * 1_000_000
    until = time.monotonic() + seconds
    connections = [socket.create_connection(('127.0.0.1', server.port)) for _ in range(100)]
    header = struct.pack('<iiii', 48_000_000, 1, 0, 2013)
    left = {}
    for connection in connections:
        connection.setblocking(False)
        left[connection] = [header] + [chunk] * 40
    while left and time.monotonic() < until:
        idle = True
        for connection in list(left):
            try:
                sent = connection.send(left[connection][0])
                idle = False
            except BlockingIOError:
                continue
            except OSError:
                del left[connection]
                continue
            left[connection][0] = left[connection][0][sent:]
            if not left[connection][0]:
                left[connection].pop(0)
                if not left[connection]:
                    del left[connection]
        if idle:
            time.sleep(0.01)
    time.sleep(max(0, until - time.monotonic()))
    for connection in connections:
        connection.close()


def unread_replies(server, seconds):
    """Fifty connections that ask twenty times for 20 MB and read nothing."""
    message = raw_bson.op_msg(bson.encode({'find': 'wide', 'batchSize': 20, '$db': 'attack'}))
    connections = [socket.create_connection(('127.0.0.1', server.port)) for _ in range(50)]
    for connection in connections:
        connection.sendall(message * 20)
    time.sleep(seconds)
    for connection in connections:
        connection.close()


def update_large(server, _):
    with server.client() as client:
        client.attack.big.update_many({}, {'$inc': {'z': 1}})


def update_many(server, _):
    with server.client() as client:
        changed = client.attack.small.update_many({}, {'$inc': {'z': 1}}).modified_count
        if changed != SMALL_DOCUMENTS:
            raise AssertionError('%d of %d changed' % (changed, SMALL_DOCUMENTS))


def scripts(server, seconds):
    """Eight scripts that fill arrays."""
    until = time.monotonic() + seconds

    def work(_):
        with server.client() as client:
            while time.monotonic() < until:
                refused(lambda: list(client.attack.one.find({'$where': 'new Array(1e9).fill(0)'}, max_time_ms=2000)))
    side_by_side(8, work)


ALL = (ranges, zips, half_messages, unread_replies, update_large, update_many, scripts)


class Bystander(threading.Thread):
    """A well-behaved client: pings and small finds, whose slowest it notes, and the server's memory meanwhile."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.done = server, threading.Event()
        self.slowest, self.served, self.samples, self.problem = 0, 0, [], None

    def run(self):
        began = time.monotonic()
        try:
            with self.server.client(serverSelectionTimeoutMS=20_000) as client:
                while not self.done.wait(0.02):
                    before = time.monotonic()
                    client.admin.command('ping')
                    self.slowest = max(self.slowest, time.monotonic() - before)
                    if client.attack.one.find_one({'_id': 1}) is None:
                        raise AssertionError('the bystander does not find its document')
                    self.served += 1
                    self.samples.append((time.monotonic() - began, resident(self.server)))
        except Exception as problem:  # pylint: disable=broad-except
            self.problem = problem

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.join()

    @property
    def peak(self):
        return max(memory for _, memory in self.samples)


def attack(server, attacks, seconds):
    """Runs the attacks at once; the problems that they had."""
    problems = []

    def guarded(one):
        try:
            one(server, seconds)
        except Exception as problem:  # pylint: disable=broad-except
            problems.append('%s: %r' % (one.__name__, problem))

    threads = [threading.Thread(target=guarded, args=(one,)) for one in attacks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return problems

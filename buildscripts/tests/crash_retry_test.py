# SPDX-License-Identifier: Apache-2.0
"""Retryable writes of many sessions, with checkpoints in between, until the server is killed. After the restart each
session sends its last writes again, as a driver does: what was acknowledged gives the same answer, what was not is done
now or was done before; nothing is done twice and nothing is lost. FRESHET_RETRY_ROUNDS is the number of rounds."""
import collections
import os
import random
import sys
import threading
import time
import unittest
import uuid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from transaction_load import Failed, Gone, Wire  # noqa: E402

harness.import_pymongo()
import bson  # noqa: E402

ROUNDS = int(os.environ.get('FRESHET_RETRY_ROUNDS') or 12)
SESSIONS = 8
DB = 'crash'


class Writer(threading.Thread):
    """A session: its writes are numbered and change documents that only it has. Each write adds one to counters, so that
    what is done twice shows."""

    def __init__(self, seed, port):
        super().__init__()
        self.random, self.port, self.problem = random.Random(seed), port, None
        self.session = {'id': bson.Binary(uuid.uuid4().bytes, 4)}
        self.name, self.number = str(self.session['id'].hex()[:8]), 0
        self.counters = collections.Counter()  # as they are when all writes were done once
        self.last, self.answer = None, None  # the last write; None: it was not answered

    def make(self):
        """The next write, and the part of its answer that must be the same each time."""
        self.number += 1
        kind = self.random.choice(('findAndModify', 'update', 'insert', 'local'))
        keys = [self.random.randrange(20) for _ in range(1 if kind in ('findAndModify', 'local') else self.random.choice((1, 3, 200)))]
        if kind == 'insert':
            documents = [{'_id': '%s-%d-%d' % (self.name, self.number, i)} for i in range(len(keys))]
            self.counters['inserted'] += len(keys)
            return DB, {'insert': 'inserted', 'documents': documents}, lambda reply: reply['n']
        if kind == 'findAndModify':
            self.counters[keys[0]] += 1
            return DB, {'findAndModify': 'counters', 'query': {'_id': self.key(keys[0])}, 'update': {'$inc': {'n': 1}}, 'upsert': True,
                        'new': True}, lambda reply: (reply['value'], reply['lastErrorObject'])
        place = ('local', 'local') if kind == 'local' else (DB, 'counters')
        for key in keys:
            self.counters[('local', key) if kind == 'local' else key] += 1
        updates = [{'q': {'_id': self.key(key)}, 'u': {'$inc': {'n': 1}}, 'upsert': True} for key in keys]
        return place[0], {'update': 'local' if kind == 'local' else 'counters', 'updates': updates}, lambda reply: (
            reply['n'], reply['nModified'], reply.get('upserted'))

    def key(self, number):
        return '%s-%d' % (self.name, number)

    def send(self, wire):
        db, command, part = self.last
        return part(wire.ask(db, {**command, 'lsid': self.session, 'txnNumber': bson.Int64(self.number)}))

    def run(self):
        wire = Wire(self.port)
        try:
            while True:
                self.answer = None
                self.last = self.make()
                self.answer = self.send(wire)
                if self.random.random() < 0.2:
                    self.again(wire)
        except (Gone, OSError):
            pass
        except Failed as failed:  # a server that ends says so; the write is to be sent again
            if 'RetryableWriteError' not in failed.labels:
                self.problem = failed
        except Exception as problem:  # pylint: disable=broad-except
            self.problem = problem
        finally:
            wire.close()

    def again(self, wire):
        """Sends the last write again."""
        if self.last is None:
            return
        answer = self.send(wire)
        if self.answer is not None and answer != self.answer:
            raise AssertionError('the answer was %s, and is now %s, to %.1000s' % (self.answer, answer, self.last))
        self.answer = answer

    def next_round(self):
        """A thread runs once only."""
        other = Writer(self.random.random(), self.port)
        other.session, other.name, other.number, other.counters = self.session, self.name, self.number, self.counters
        other.last, other.answer = self.last, self.answer
        return other


class CrashRetryTest(unittest.TestCase):
    def check(self, server, writers):
        wire = Wire(server.port)
        for writer in writers:
            for _ in range(2):
                writer.again(wire)
        wire.close()
        with server.client() as client:
            found = {doc['_id']: doc['n'] for doc in client[DB].counters.find()}
            local = {doc['_id']: doc['n'] for doc in client.local.local.find()}
            for writer in writers:
                wanted = {writer.key(key): n for key, n in writer.counters.items() if isinstance(key, int)}
                self.assertEqual({key: found.get(key) for key in wanted}, wanted)
                wanted = {writer.key(key[1]): n for key, n in writer.counters.items() if isinstance(key, tuple)}
                self.assertEqual({key: local.get(key) for key in wanted}, wanted)
                self.assertEqual(client[DB].inserted.count_documents({'_id': {'$regex': '^' + writer.name}}), writer.counters['inserted'])
            self.assertTrue(client.config.command('validate', 'transactions')['valid'])

    def test_nothing_is_done_twice_and_nothing_is_lost(self):
        chance = random.Random(harness.seed())
        with harness.Server(arguments=['--syncdelay', '1']) as server:
            writers = [Writer(chance.random(), server.port) for _ in range(SESSIONS)]
            writes = 0
            for number in range(ROUNDS):
                for writer in writers:
                    writer.start()
                # When the kill comes, and how many checkpoints before it, is what is random here.
                with server.client() as client:
                    for _ in range(chance.randrange(4)):
                        time.sleep(chance.uniform(0, 0.3))
                        client.admin.command('fsync')
                    time.sleep(chance.uniform(0, 0.5))
                if number % 4 == 3:
                    server.stop()  # a clean end, for once
                else:
                    server.kill()
                for writer in writers:
                    writer.join()
                    if writer.problem is not None:
                        raise writer.problem
                server.start()
                writers = [writer.next_round() for writer in writers]
                for writer in writers:
                    writer.port = server.port
                self.check(server, writers)
                writes = sum(writer.number for writer in writers)
            print('%d writes, none lost, none done twice' % writes)
            self.assertGreater(writes, ROUNDS * SESSIONS)


if __name__ == '__main__':
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The crash loop: writers log every acknowledged change outside the server, the server is killed in the
middle, and after the restart everything acknowledged must be there, nothing half-applied, every index equal
to its collection. Checkpoints are taken all the time.

Each writer owns its documents, so what they must look like is known exactly but for the one operation that
was in flight at the kill, which may have happened or not. What a round does to the server: see crash_rounds.
"""
import random
import threading
import time

import crash_rounds
import harness
from crash_rounds import Lost

WRITERS = 8
PADS = (10, 100, 1000, 20000)
DOCUMENTS_MAX = 60  # of a writer; more are deleted first
OUT_OF_DISK_SPACE = 14031
INDEXES = {'owner_1_n_-1': [('owner', 1), ('n', -1)], 'tags_1': [('tags', 1)], 'serial_1': [('serial', 1)]}


def apply(documents, change):
    """The model: what `change` makes of {_id: document}."""
    kind, ids, argument = change
    for key in ids:
        if kind == 'insert':
            documents[key] = dict(argument[key])
        elif kind == 'delete':
            documents.pop(key, None)
        elif kind == 'update':
            doc = dict(documents[key])
            doc.update(n=doc['n'] + argument, check=doc['check'] - argument, tags=doc['tags'] + ['t%d' % argument])
            documents[key] = doc
        else:
            documents[key] = dict(argument, _id=key)


def close_aside(client):
    """Closing a client whose server is dead waits for the server to come back; nobody need wait for that."""
    threading.Thread(target=client.close, daemon=True).start()


def is_refusal(error):
    details = getattr(error, 'details', None) or {}
    codes = [details.get('code')] + [one.get('code') for one in details.get('writeErrors', [])]
    return OUT_OF_DISK_SPACE in codes


class Writer:
    """One client with a random stream of its own."""

    def __init__(self, number, seed):
        self.number, self.random = number, random.Random('%d/%d' % (seed, number))
        self.acknowledged, self.in_flight, self.serial, self.done = {}, None, 0, 0
        self.pads, self.refused = PADS, False

    def make(self):
        self.serial += 1
        return {'_id': '%d/%d' % (self.number, self.serial), 'owner': self.number, 'n': self.serial, 'check': -self.serial,
                'tags': ['w%d' % self.number, 't%d' % (self.serial % 7)], 'serial': '%d-%d' % (self.number, self.serial),
                'pad': 'x' * self.random.choice(self.pads)}

    def next_change(self):
        roll = self.random.random()
        keys = list(self.acknowledged)
        if len(keys) > DOCUMENTS_MAX:
            roll = max(roll, 0.6)
        if roll < 0.35 or len(keys) < 20:
            docs = [self.make() for _ in range(self.random.choice((1, 1, 1, 5)))]
            return ('insert', [doc['_id'] for doc in docs], {doc['_id']: doc for doc in docs})
        if roll < 0.7:
            return ('update', [self.random.choice(keys)], self.random.randrange(1, 100))
        if roll < 0.8:
            doc = self.make()
            del doc['_id']
            return ('replace', [self.random.choice(keys)], doc)
        return ('delete', [self.random.choice(keys)], None)

    def send(self, collection, change):
        kind, ids, argument = change
        if kind == 'insert':
            collection.insert_many([dict(argument[key]) for key in ids])
        elif kind == 'update':
            result = collection.update_one({'_id': ids[0]}, {'$inc': {'n': argument, 'check': -argument},
                                                             '$push': {'tags': 't%d' % argument}})
            if result.matched_count != 1:
                raise Lost('%s is not there to be updated' % ids[0])
        elif kind == 'replace':
            if collection.replace_one({'_id': ids[0]}, dict(argument)).matched_count != 1:
                raise Lost('%s is not there to be replaced' % ids[0])
        elif collection.delete_one({'_id': ids[0]}).deleted_count != 1:
            raise Lost('%s is not there to be deleted' % ids[0])

    def work(self, uri, load):
        pymongo = harness.import_pymongo()
        client = pymongo.MongoClient(uri, serverSelectionTimeoutMS=10000, retryWrites=False)
        collection = client.crash.docs
        try:
            while not load.stop.is_set():
                self.in_flight = self.next_change()
                self.send(collection, self.in_flight)
                apply(self.acknowledged, self.in_flight)
                self.in_flight, self.done = None, self.done + 1
        except Lost as lost:
            load.problems.append(lost)
        except pymongo.errors.PyMongoError as error:
            # Refused for want of space: what became of the operation shows at the next start.
            self.refused = is_refusal(error)
            if not load.may_die.is_set() and not self.refused:
                load.problems.append(error)
        finally:
            close_aside(client)

    def verify(self, found):
        """Holds what is there against what was acknowledged, then takes the in-flight outcome over."""
        for key in set(self.acknowledged) | set(found):
            allowed = [self.acknowledged.get(key)]
            if self.in_flight and key in self.in_flight[1]:
                after = dict(self.acknowledged)
                apply(after, self.in_flight)
                allowed.append(after.get(key))
            if found.get(key) not in allowed:
                raise Lost('writer %d, %s: found %.300s, want one of %.600s (in flight: %.300s)'
                           % (self.number, key, found.get(key), allowed, self.in_flight))
        self.verify_order(found)
        self.acknowledged, self.in_flight = dict(found), None

    def verify_order(self, found):
        """Of an ordered batch in flight, a first part may be there, but no later one without the earlier."""
        if self.in_flight and self.in_flight[0] == 'insert':
            there = [key in found for key in self.in_flight[1]]
            if there != sorted(there, reverse=True):
                raise Lost('writer %d: a batch has holes: %s' % (self.number, list(zip(self.in_flight[1], there))))


def verify_indexes(database, documents):
    """Every index finds exactly the collection's documents, in its order, and the server's own check agrees."""
    for name, keys in INDEXES.items():
        found = [doc['_id'] for doc in database.docs.find({}, {'_id': 1}, hint=name)]
        if sorted(found) != sorted(documents):
            raise Lost('index %s and the collection differ: %s' % (name, sorted(set(found) ^ set(documents))[:5]))
    for tag in {tag for doc in documents.values() for tag in doc['tags']}:
        found = sorted(doc['_id'] for doc in database.docs.find({'tags': tag}, {'_id': 1}))
        if found != sorted(key for key, doc in documents.items() if tag in doc['tags']):
            raise Lost('index tags_1 is wrong for %s' % tag)
    report = database.command('validate', 'docs')
    if not report['valid']:
        raise Lost('validate: %s' % report)


def verify(client, writers):
    documents = {doc['_id']: doc for doc in client.crash.docs.find({}, hint=[('$natural', 1)])}
    for key, doc in documents.items():
        if doc['n'] + doc['check'] != 0:
            raise Lost('%s is half-applied: %s' % (key, doc))
    for writer in writers:
        writer.verify({key: doc for key, doc in documents.items() if doc['owner'] == writer.number})
    verify_indexes(client.crash, documents)


class Load:
    """The writers at work. As a context: they stop at its end, by when the server must be dead. Whoever kills it
    says so before."""

    def __init__(self, server, writers):
        self.stop, self.may_die, self.problems = threading.Event(), threading.Event(), []
        self.threads = [threading.Thread(target=writer.work, args=(server.uri, self)) for writer in writers]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        if self.problems:
            raise self.problems[0]


class Totals:
    """What the rounds of a run have met, for the caller to judge."""

    def __init__(self):
        self.operations, self.faults, self.checkpoints = 0, [], []  # faults: of rounds that inject them
        self.outcomes = {}
        self.evicted, self.read = 0, 0  # leaves, until the checkpoints of a round were made

    def count(self, outcome):
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def count_faults(self, fired, simulated):
        if simulated:
            self.faults.append(fired)

    def __str__(self):
        return '%d acknowledged operations; checkpoints in %d rounds, at least %d; faults in %d, at least %d, %d in all; %s' % (
            self.operations, len(self.checkpoints), min(self.checkpoints or [0]),
            len(self.faults), min(self.faults or [0]), sum(self.faults),
            ', '.join('%s %d' % item for item in sorted(self.outcomes.items())))


def prepare(server, writers):
    """A collection with its indexes."""
    server.start()
    with server.client(retryWrites=False) as client:
        for name, keys in INDEXES.items():
            client.crash.docs.create_index(keys, name=name, unique=name == 'serial_1')
        verify(client, writers)
    if server.stop() != 0:
        raise Lost('the first stop did not exit with 0')


def run(kinds, rounds, seed, sim='freshetd-sim'):
    """Runs `rounds` rounds, the kinds taking turns on one data directory. Raises Lost. Returns Totals."""
    pymongo = harness.import_pymongo()
    import bson
    chance, totals = random.Random(seed), Totals()
    writers = [Writer(number, seed) for number in range(WRITERS)]
    server = harness.Server()
    server.arguments += ['--setParameter', 'enableTestCommands=1']
    try:
        prepare(server, writers)
        for turn in range(rounds):
            kind = crash_rounds.KINDS[kinds[turn % len(kinds)]]
            kind(server, writers, chance, totals, sim).run()
        server.binary = harness.program('freshetd')
        server.start()
        with server.client() as client:
            verify(client, writers)
        if server.stop() != 0:
            raise Lost('the last stop did not exit with 0')
        totals.operations = sum(writer.done for writer in writers)
        return totals
    except (pymongo.errors.PyMongoError, bson.errors.BSONError) as error:
        raise Lost('an answer nobody should get: %s' % error) from error
    finally:
        server.__exit__()

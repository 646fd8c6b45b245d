# SPDX-License-Identifier: Apache-2.0
"""The crash loop: writers log every acknowledged change outside the server, the server is killed in the
middle, and after the restart everything acknowledged must be there, nothing half-applied, every index equal
to its collection.

Each writer owns its documents, so what they must look like is known exactly but for the one operation that
was in flight at the kill, which may have happened or not.
"""
import random
import threading
import time

import harness

WRITERS = 8
COLLECTION = 'crash.docs'
INDEXES = {'owner_1_n_-1': [('owner', 1), ('n', -1)], 'tags_1': [('tags', 1)], 'serial_1': [('serial', 1)]}


class Lost(AssertionError):
    """Something acknowledged is not there, or something is half there."""


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


class Writer:
    """One client with a random stream of its own."""

    def __init__(self, number, seed):
        self.number, self.random = number, random.Random('%d/%d' % (seed, number))
        self.acknowledged, self.in_flight, self.serial, self.done = {}, None, 0, 0

    def make(self):
        self.serial += 1
        return {'_id': '%d/%d' % (self.number, self.serial), 'owner': self.number, 'n': self.serial, 'check': -self.serial,
                'tags': ['w%d' % self.number, 't%d' % (self.serial % 7)], 'serial': '%d-%d' % (self.number, self.serial),
                'pad': 'x' * self.random.choice((10, 100, 1000, 20000))}

    def next_change(self):
        roll = self.random.random()
        keys = list(self.acknowledged)
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

    def work(self, uri, stop, problems):
        pymongo = harness.import_pymongo()
        client = pymongo.MongoClient(uri, serverSelectionTimeoutMS=2000, retryWrites=False)
        collection = client.crash.docs
        try:
            while not stop.is_set():
                self.in_flight = self.next_change()
                self.send(collection, self.in_flight)
                apply(self.acknowledged, self.in_flight)
                self.in_flight, self.done = None, self.done + 1
        except Lost as lost:
            problems.append(lost)
        except pymongo.errors.PyMongoError as error:
            if not stop.is_set():
                problems.append(error)
        finally:
            client.close()

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


def write_and_kill(server, writers, seconds):
    stop, problems = threading.Event(), []
    threads = [threading.Thread(target=writer.work, args=(server.uri, stop, problems)) for writer in writers]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stop.set()
    server.kill()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def run(binaries, rounds, seed):
    """Runs `rounds` kills, the binaries taking turns on one data directory. Raises Lost. Returns the number
    of acknowledged operations."""
    chance = random.Random(seed)
    writers = [Writer(number, seed) for number in range(WRITERS)]
    server = harness.Server(binaries[0], arguments=['--setParameter', 'enableTestCommands=1'])
    try:
        for turn in range(rounds + 1):
            server.binary = harness.program(binaries[turn % len(binaries)])
            server.start()
            with server.client(retryWrites=False) as client:
                if turn == 0:
                    for name, keys in INDEXES.items():
                        client.crash.docs.create_index(keys, name=name, unique=name == 'serial_1')
                verify(client, writers)
            if turn < rounds:
                write_and_kill(server, writers, chance.uniform(0.2, 1.0))
        if server.stop() != 0:
            raise Lost('the last stop did not exit with 0')
        return sum(writer.done for writer in writers)
    finally:
        server.__exit__()

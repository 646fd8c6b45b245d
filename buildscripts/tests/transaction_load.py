# SPDX-License-Identifier: Apache-2.0
"""Sessions that run transactions over raw sockets, for crash_transactions_test: a bank, and lists for the checker of
transaction_history; and what happens beside them: checkpoints and definition changes.

The bank: accounts in collections of two databases. Each transfer also inserts an entry into the ledger of its round, with
what it did to each account. The ledger therefore says which transfers were committed and what the balances must be."""
import collections
import math
import random
import threading
import time
import uuid

import harness
import raw_bson
import transaction_history as history

harness.import_pymongo()
import bson  # noqa: E402

ACCOUNTS = (('bank0', 'accounts'), ('bank0', 'savings'), ('bank1', 'accounts'))
AWAY = 'elsewhere'  # the name of bank0.savings while it is renamed
TOUCHED, TOUCHED_IDS = ('bank1', 'touched'), 4  # counters that are also incremented outside transactions
LEDGER, PADS, LISTS = ('bank1', 'ledger'), ('bank0', 'pads'), (('lists0', 'lists'), ('lists1', 'lists'))
ACCOUNT_IDS, ACCOUNTS_AT_FIRST, BALANCE_AT_FIRST = 30, 20, 100  # in each collection; more accounts come and go
PAD, PADS_OF_ONE = b'x' * 2_000_000, (1, 2, 4, 12)  # 24 megabytes at most
KEYS_AT_ONCE, KEY_APPENDS = 6, 40  # of lists; after so many appends a new key replaces the key
SECONDS_MAX = 120  # an answer that takes longer is a failure
PROBLEMS_SHOWN = 3
WRITE_CONFLICT, SNAPSHOT_UNAVAILABLE, NO_SUCH_TRANSACTION, MAX_TIME_EXPIRED = 112, 246, 251, 50
TRANSIENT = (WRITE_CONFLICT, SNAPSHOT_UNAVAILABLE, NO_SUCH_TRANSACTION)


class Wrong(AssertionError):
    """The server has broken a promise."""


class Gone(Exception):
    """The connection was closed by the server."""


class Failed(Exception):
    """The server answered with an error."""

    def __init__(self, reply):
        super().__init__(str(reply)[:2000])
        self.reply, self.code, self.labels = reply, reply.get('code'), reply.get('errorLabels', [])

    @property
    def is_transient(self):
        return self.code in TRANSIENT and self.labels == ['TransientTransactionError']


class Wire:
    """One connection; commands and replies are dictionaries."""

    def __init__(self, port):
        self.connection = raw_bson.Connection(port, SECONDS_MAX)

    def message(self, db, command):
        return raw_bson.op_msg(bson.encode({**command, '$db': db}))

    def ask(self, db, command):
        try:
            data = self.connection.ask_bytes(self.message(db, command))
        except TimeoutError as late:
            raise Wrong('no answer in %d s: %.1000s' % (SECONDS_MAX, command)) from late
        if data is None:
            raise Gone()
        reply = bson.decode(data)
        if reply['ok'] != 1 or reply.get('writeErrors') or reply.get('writeConcernError'):
            raise Failed(reply)
        return reply

    def find_all(self, db, collection):
        cursor, documents = self.ask(db, {'find': collection, 'batchSize': 1000})['cursor'], []
        documents += cursor['firstBatch']
        while cursor['id']:
            cursor = self.ask(db, {'getMore': bson.Int64(cursor['id']), 'collection': collection})['cursor']
            documents += cursor['nextBatch']
        return documents

    def send_only(self, db, command):
        """Closes the connection without reading the answer."""
        try:
            self.connection.send(self.message(db, command))
        except ConnectionError as error:
            raise Gone() from error
        finally:
            self.connection.close()

    def close(self):
        self.connection.close()


class Session:
    """A logical session and its transactions. It outlives connections and restarts of the server."""

    def __init__(self, port, wire=None):
        self.wire = wire or Wire(port)
        self.id = {'id': bson.Binary(uuid.uuid4().bytes, 4)}
        self.number = 0
        self.begin()

    def begin(self, level=None):
        self.number, self.level, self.is_started, self.has_written = self.number + 1, level, False, False
        self.log = ['%.6f, level %s' % (time.monotonic(), level)]  # shown with a failure

    def fields(self):
        return {'lsid': self.id, 'txnNumber': bson.Int64(self.number), 'autocommit': False}

    def run(self, place, command):
        """Runs a statement. The first one starts the transaction."""
        command = {**command, **self.fields()}
        if not self.is_started:
            command['startTransaction'] = True
            if self.level:
                command['readConcern'] = {'level': self.level}
        self.is_started = True
        reply = self.ask(place, command)
        self.has_written |= list(command)[0] in ('insert', 'update', 'delete', 'findAndModify')
        return reply

    def ask(self, place, command):
        said = {name: value for name, value in command.items() if name not in ('lsid', 'autocommit', 'txnNumber')}
        self.log.append('%s %.300s' % (place, said))
        reply = self.wire.ask(place, command)
        shown = {name: reply[name] for name in ('n', 'value', 'cursor') if name in reply}
        self.log[-1] += ' -> %.300s' % (shown or 'ok')
        return reply

    def read(self, place, filter=None, batch=None, **options):
        """Returns all documents that a find returns, in batches."""
        db, name = place
        cursor = self.run(db, {'find': name, 'filter': filter or {}, **options, **({'batchSize': batch} if batch else {})})['cursor']
        found = cursor['firstBatch']
        while cursor['id']:
            cursor = self.run(db, {'getMore': bson.Int64(cursor['id']), 'collection': name, 'batchSize': batch})['cursor']
            found += cursor['nextBatch']
        return found

    def commit_command(self):
        return {'commitTransaction': 1, 'writeConcern': {'w': 'majority', 'j': True}, **self.fields()}

    def commit(self):
        return self.ask('admin', self.commit_command())

    def abort(self):
        return self.ask('admin', {'abortTransaction': 1, **self.fields()})

    def is_committed(self):
        """Repeats the commit and returns what the server says."""
        try:
            self.commit()
            return True
        except Failed as failed:
            if failed.code != NO_SUCH_TRANSACTION or not failed.is_transient:
                raise
            return False


class Attempt:
    """One transaction, as its session knows it. Its outcome is 'fail' until a commit is sent: before that it must leave nothing."""

    def __init__(self, at, session):
        self.name, self.log = '%d/%d' % (at, session.number), session.log
        self.begin, self.end, self.outcome = time.monotonic(), math.inf, 'fail'
        self.operations, self.moves, self.pads, self.has_written = [], [], 0, False
        self.retryable = None  # the command, if this is a retryable write instead of a transaction

    def ended(self, outcome):
        self.outcome, self.end = outcome, time.monotonic()

    def __str__(self):
        return '%s (%s):\n        %s' % (self.name, self.outcome, '\n        '.join(self.log))


class Worker:
    """One session at work, with a random stream of its own."""

    def __init__(self, at, seed, port):
        self.at, self.random, self.session = at, random.Random('%d/%d' % (seed, at)), Session(port)
        self.attempts = []  # of the round
        self.load = None

    def run(self, db, command):
        return self.session.run(db, command)

    def work(self, load):
        self.load = load
        try:
            while not load.stop.is_set():
                self.one()
        except Wrong as wrong:
            load.problem('%s, in %s' % (wrong, self.attempts[-1]))
        except Gone:
            if not load.may_die.is_set():
                load.problem('the connection was closed in %s' % self.attempts[-1])
        except Failed as failed:
            if not load.may_die.is_set():
                load.problem('%s, in %s' % (failed, self.attempts[-1]))
        except Exception as error:  # the run fails, also if it is a fault of this file
            load.problem('%r, in %s' % (error, self.attempts[-1]))
            raise
        finally:
            self.session.wire.close()

    def one(self):
        self.session.begin(self.random.choice((None, 'local', 'majority', 'snapshot')))
        attempt = Attempt(self.at, self.session)
        self.attempts.append(attempt)
        roll = self.random.random()
        kind = self.append_lists if roll < 0.5 else self.transfer if roll < 0.85 else self.see_sum
        try:
            if roll >= 0.95:
                self.touch_retryably(attempt)
                return
            kind(attempt)
            attempt.has_written = self.session.has_written
            self.finish(attempt)
        except Failed as failed:
            if not failed.is_transient:
                raise
            attempt.ended('fail')
            self.load.count(failed.code)

    def finish(self, attempt):
        roll = self.random.random()
        if roll < 0.08:
            self.session.abort()
            attempt.ended('fail')
            self.load.count('aborted')
        elif roll < 0.1:  # left open until its session starts the next, or until the server is killed
            self.load.count('left open')
            if self.random.random() < 0.3 and self.load.may_idle():
                self.load.stop.wait()
            attempt.ended('fail')
        elif roll < 0.15:
            attempt.outcome = 'info'
            self.lose_reply(attempt)
        else:
            attempt.outcome = 'info'
            self.session.commit()
            attempt.ended('ok')
            self.load.committed()
            if roll < 0.2:
                self.session.commit()

    def lose_reply(self, attempt):
        """Closes the connection before the commit is answered, and repeats the commit on another connection."""
        self.session.wire.send_only('admin', self.session.commit_command())
        is_committed = self.session.is_committed()
        attempt.ended('ok' if is_committed else 'fail')
        self.load.count('lost replies, %s' % ('committed' if is_committed else 'not committed'))

    # The lists.

    def append_lists(self, attempt):
        for _ in range(self.random.randrange(1, 6)):
            key = self.load.keys[self.random.randrange(KEYS_AT_ONCE)]
            method = self.random.choice(('read', 'read several', 'read by element', 'push', 'push', 'push and see', 'read and set'))
            getattr(self, method.replace(' ', '_'))(attempt, key)

    @staticmethod
    def place_of(key):
        return LISTS[key % len(LISTS)]

    def noted(self, attempt, key, document):
        elements = document['v'] if document else []
        attempt.operations.append(('read', key, elements))
        return elements

    def read(self, attempt, key):
        db, name = self.place_of(key)
        batch = self.run(db, {'find': name, 'filter': {'_id': key}})['cursor']['firstBatch']
        return self.noted(attempt, key, batch[0] if batch else None)

    def read_by_element(self, attempt, key):
        """Through an index, if there is one at the time, and by _id: both must find the same."""
        element = self.random.randrange(self.load.element + 1)
        db, name = self.place_of(key)
        found = self.run(db, {'find': name, 'filter': {'v': element}})['cursor']['firstBatch']
        for document in found:
            self.noted(attempt, document['_id'], document)
        if (element in self.read(attempt, key)) != (key in [document['_id'] for document in found]):
            raise Wrong('%d: a find by the element %d found %s' % (key, element, found))

    def read_several(self, attempt, key):
        db, name = self.place_of(key)
        keys = [other for other in self.load.keys if self.place_of(other) == (db, name)]
        pipeline = [{'$match': {'_id': {'$in': keys}}}, {'$sort': {'v.0': self.random.choice((1, -1))}}]
        found = {one['_id']: one for one in self.run(db, {'aggregate': name, 'pipeline': pipeline, 'cursor': {}})['cursor']['firstBatch']}
        for other in keys:
            self.noted(attempt, other, found.get(other))

    def new_element(self, attempt, key):
        element = self.load.new_element(key)
        attempt.operations.append(('append', key, element))
        return element

    def change(self, attempt, key, command):
        """Runs a statement that appends."""
        db, name = self.place_of(key)
        operation = attempt.operations[-1]
        reply = self.run(db, {list(command)[0]: name, **dict(list(command.items())[1:])})
        if reply.get('n', 1) != 1:
            raise Wrong('%s changed %s documents' % (operation, reply['n']))
        return reply

    def push(self, attempt, key):
        element = self.new_element(attempt, key)
        self.change(attempt, key, {'update': 1, 'updates': [{'q': {'_id': key}, 'u': {'$push': {'v': element}}, 'upsert': True}]})

    def push_and_see(self, attempt, key):
        element = self.new_element(attempt, key)
        reply = self.change(attempt, key, {'findAndModify': 1, 'query': {'_id': key}, 'update': {'$push': {'v': element}}, 'upsert': True, 'new': True})
        self.noted(attempt, key, reply['value'])

    def read_and_set(self, attempt, key):
        elements = self.read(attempt, key)
        element = self.new_element(attempt, key)
        if elements:
            self.change(attempt, key, {'update': 1, 'updates': [{'q': {'_id': key}, 'u': {'$set': {'v': elements + [element]}}}]})
        else:
            self.change(attempt, key, {'insert': 1, 'documents': [{'_id': key, 'v': [element]}]})

    # The bank.

    def transfer(self, attempt):
        if self.random.random() < 0.2:
            self.check_sum()
        places = [self.random.choice(ACCOUNTS) for _ in range(self.random.choice((1, 2, 2, 3)))]
        for place in dict.fromkeys(places):  # each once
            if not self.move_within(attempt, place):
                return
        self.rebalance(attempt)
        if self.random.random() < 0.3:
            self.touch(attempt)
        attempt.pads = self.random.choice(PADS_OF_ONE) if self.random.random() < 0.02 else 0
        entry = {'_id': attempt.name, 'moves': [{'account': account, 'by': by, 'life': life} for account, by, life in attempt.moves],
                 'pads': attempt.pads}
        self.run(LEDGER[0], {'insert': LEDGER[1], 'documents': [entry]})
        for at in range(attempt.pads):  # a transaction of many megabytes
            self.run(PADS[0], {'insert': PADS[1], 'documents': [{'_id': '%s/%d' % (attempt.name, at), 'of': attempt.name, 'pad': PAD}]})
        if self.random.random() < 0.2:
            self.check_sum()

    def move_within(self, attempt, place):
        """Moves money between two accounts of the collection. False: it has no such accounts, or it is renamed."""
        db, name = place
        ids = self.random.sample(range(ACCOUNT_IDS), 4)
        found = {one['_id']: one['balance'] for one in self.session.read(place, {'_id': {'$in': ids}}, batch=self.random.choice((None, 2)))}
        if len(found) < 1:
            return bool(attempt.moves)
        taken = self.random.choice(sorted(found))
        amount = self.random.randrange(-5, 20)
        others = [one for one in ids if one != taken]
        given = self.random.choice(others)
        if found[taken] == amount or self.random.random() < 0.05:
            amount = found[taken]
            self.expect(1, self.run(db, {'delete': name, 'deletes': [{'q': {'_id': taken}, 'limit': 1}]}))
            self.note(attempt, place, taken, -amount, -1)
        elif self.random.random() < 0.05:  # deleted and inserted again in one transaction
            self.expect(1, self.run(db, {'delete': name, 'deletes': [{'q': {'_id': taken}, 'limit': 1}]}))
            self.expect(1, self.run(db, {'insert': name, 'documents': [self.account(taken, found[taken] - amount)]}))
            self.note(attempt, place, taken, -amount, 0)
        elif given in found and self.random.random() < 0.3:  # both at once
            updates = [{'q': {'_id': taken}, 'u': {'$inc': {'balance': -amount}}}, {'q': {'_id': given}, 'u': {'$inc': {'balance': amount}}}]
            self.expect(2, self.run(db, {'update': name, 'updates': updates, 'ordered': self.random.choice((True, False))}))
            self.note(attempt, place, taken, -amount, 0)
            self.note(attempt, place, given, amount, 0)
            return True
        else:
            self.add(attempt, place, taken, found[taken], -amount)
        if given in found:
            self.add(attempt, place, given, found[given], amount)
        else:
            self.expect(1, self.run(db, {'insert': name, 'documents': [self.account(given, amount)]}))
            self.note(attempt, place, given, amount, 1)
        return True

    def rebalance(self, attempt):
        """Moves money between two of the collections, so that the sum of each changes."""
        if len({place for (place, _), _, _ in attempt.moves}) < 2:
            return
        lives = collections.Counter()
        for account, _, life in attempt.moves:
            lives[account] += life
        by_place = {account[0]: account for account in lives if lives[account] >= 0}
        if len(by_place) < 2:
            return
        for by, (place, key) in zip((7, -7), sorted(by_place.values())):
            db, name = place.split('.')
            self.expect(1, self.run(db, {'update': name, 'updates': [{'q': {'_id': key}, 'u': [{'$set': {'balance': {'$add': ['$balance', by]}}}]}]}))
            attempt.moves.append(((place, key), by, 0))

    def touch(self, attempt):
        key = self.random.randrange(TOUCHED_IDS)
        self.add(attempt, TOUCHED, key, self.session.read(TOUCHED, {'_id': key})[0]['balance'], 1)

    def touch_retryably(self, attempt):
        """A retryable write outside transactions. If it is sent twice, it is done once."""
        key = self.random.randrange(TOUCHED_IDS)
        attempt.retryable = {**touch_of(key), 'lsid': self.session.id, 'txnNumber': bson.Int64(self.session.number)}
        attempt.outcome = 'info'
        is_sent_twice = self.random.random() < 0.3
        try:
            if is_sent_twice:
                self.session.wire.send_only(TOUCHED[0], attempt.retryable)
            self.session.ask(TOUCHED[0], attempt.retryable)
        except Failed as failed:
            if failed.code != MAX_TIME_EXPIRED:
                raise
            if is_sent_twice:  # the first may have been done
                self.load.may_be_touched(key)
            attempt.ended('fail')
            return
        self.load.was_touched(key)
        attempt.ended('ok')
        self.load.count('retryable')

    @staticmethod
    def account(key, balance):
        return {'_id': key, 'balance': balance, 'tags': [balance % 7, 'k%d' % (key % 3)]}

    @staticmethod
    def note(attempt, place, key, by, life):
        attempt.moves.append((('%s.%s' % place, key), by, life))

    @staticmethod
    def expect(n, reply):
        if reply['n'] != n:
            raise Wrong('%s instead of %d documents' % (reply['n'], n))

    def add(self, attempt, place, key, balance, by):
        db, name = place
        method = self.random.randrange(3)
        if method == 0:
            self.expect(1, self.run(db, {'update': name, 'updates': [{'q': {'_id': key}, 'u': {'$inc': {'balance': by}}}]}))
        elif method == 1:  # computed from what it has read: an update in between would be lost
            self.expect(1, self.run(db, {'update': name, 'updates': [{'q': {'_id': key}, 'u': {'$set': {'balance': balance + by}}}]}))
        else:
            reply = self.run(db, {'findAndModify': name, 'query': {'_id': key}, 'update': {'$inc': {'balance': by}}, 'new': True})
            if not reply['value'] or reply['value']['balance'] != balance + by:
                raise Wrong('%s.%s %s had %s and got %s: %s' % (db, name, key, balance, by, reply['value']))
        self.note(attempt, place, key, by, 0)

    def see_sum(self, attempt):
        for _ in range(2):
            self.check_sum()

    def check_sum(self):
        total = 0
        for db, name in ACCOUNTS + ((ACCOUNTS[1][0], AWAY),):
            if self.random.random() < 0.3:
                total += sum(one['balance'] for one in self.session.read((db, name), batch=self.random.choice((3, 7))))
            else:
                group = [{'$group': {'_id': None, 'sum': {'$sum': '$balance'}}}]
                hint = {'hint': 'balance_1'} if (db, name) in ACCOUNTS[::2] and self.random.random() < 0.5 else {}
                reply = self.run(db, {'aggregate': name, 'pipeline': group, 'cursor': {}, **hint})
                total += sum(one['sum'] for one in reply['cursor']['firstBatch'])
        if total != TOTAL:
            raise Wrong('%d in all instead of %d' % (total, TOTAL))


TOTAL = len(ACCOUNTS) * ACCOUNTS_AT_FIRST * BALANCE_AT_FIRST


def touch_of(key):
    """An update. If an open transaction has written the document, it waits, but not for long."""
    return {'update': TOUCHED[1], 'updates': [{'q': {'_id': key}, 'u': {'$inc': {'balance': 1}}}], 'maxTimeMS': 50}


class Beside:
    """Checkpoints and definition changes, on connections of their own."""

    def __init__(self, seed, port):
        self.random, self.port = random.Random('%d/beside' % seed), port

    def work(self, load, actions):
        wire = Wire(self.port)
        try:
            while not load.stop.is_set():
                action = self.random.choice(actions)
                for db, command in action(self):
                    self.now = command
                    self.ask(load, wire, db, command)
                load.stop.wait(self.random.random() * 0.02)
        except Gone:
            if 'update' in self.now:
                load.may_be_touched(self.now['updates'][0]['q']['_id'])
            if not load.may_die.is_set():
                load.problem('the connection was closed in %s' % self.now)
        except Failed as failed:
            if not load.may_die.is_set():
                load.problem('%s: %s' % (self.now, failed))
        except Exception as error:
            load.problem('%s: %r' % (self.now, error))
            raise
        finally:
            wire.close()

    @staticmethod
    def ask(load, wire, db, command):
        try:
            wire.ask(db, command)
            load.count(list(command)[0])
            if 'update' in command:
                load.was_touched(command['updates'][0]['q']['_id'])
        except Failed as failed:
            if 'update' not in command or failed.code != MAX_TIME_EXPIRED:
                raise

    def touch(self):
        """A write outside transactions."""
        return [(TOUCHED[0], touch_of(self.random.randrange(TOUCHED_IDS)))]

    def checkpoint(self):
        return [('admin', {'fsync': 1})]

    def index(self):
        """Creates an index and drops it, at once or with a later call."""
        db, name = self.random.choice(ACCOUNTS[::2] + LISTS)
        keys = self.random.choice(({'balance': -1, '_id': 1}, {'tags': 1}, {'v': 1}))
        key = '_'.join('%s_%s' % pair for pair in keys.items())
        made, dropped = (db, {'createIndexes': name, 'indexes': [{'key': keys, 'name': key}]}), (db, {'dropIndexes': name, 'index': key})
        return [made, dropped] if self.random.random() < 0.5 else [made]

    def modify(self):
        """Sets a validator that every account passes, and removes it."""
        db, name = self.random.choice(ACCOUNTS[::2])
        return [(db, {'collMod': name, 'validator': {'balance': {'$type': 'number'}}}), (db, {'collMod': name, 'validator': {}})]

    def rename(self):
        db, name = ACCOUNTS[1]
        here, away = '%s.%s' % (db, name), '%s.%s' % (db, AWAY)
        return [('admin', {'renameCollection': here, 'to': away}), ('admin', {'renameCollection': away, 'to': here})]

    def create(self):
        db = self.random.choice(('bank0', 'lists1', 'other'))
        return [(db, {'create': 'uninvolved'}), (db, {'insert': 'uninvolved', 'documents': [{'a': 1}]}), (db, {'drop': 'uninvolved'})]


CHECKPOINTS, TOUCHES, CHANGES = (Beside.checkpoint,), (Beside.touch,), (Beside.index, Beside.index, Beside.modify, Beside.rename, Beside.create)


class Load:
    """Runs the sessions of a round until `commits` commits were acknowledged or something was wrong."""

    def __init__(self, workers, beside, commits, totals):
        self.stop, self.may_die, self.enough = threading.Event(), threading.Event(), threading.Event()
        self.problems, self.totals, self.lock = [], totals, threading.Lock()
        self.left, self.element, self.next_key, self.idle = commits, 0, KEYS_AT_ONCE, (len(workers) - 1) // 2
        self.touched, self.unsure = collections.Counter(), collections.Counter()  # writes outside transactions, by _id: done, and perhaps done
        self.keys, self.appends = list(range(KEYS_AT_ONCE)), collections.Counter()
        self.threads = [threading.Thread(target=worker.work, args=(self,)) for worker in workers]
        self.threads += [threading.Thread(target=beside.work, args=(self, actions)) for beside, actions in beside]

    def problem(self, text):
        self.problems.append(text)
        self.enough.set()

    def may_idle(self):
        """Whether one more session may leave its transaction open to the end. At most half of them may."""
        with self.lock:
            self.idle -= 1
            return self.idle >= 0

    def count(self, what):
        with self.lock:
            self.totals[what] += 1

    def was_touched(self, key):
        with self.lock:
            self.touched[key] += 1

    def may_be_touched(self, key):
        with self.lock:
            self.unsure[key] += 1

    def committed(self):
        with self.lock:
            self.totals['committed'] += 1
            self.left -= 1
            if self.left == 0:
                self.enough.set()

    def new_element(self, key):
        with self.lock:
            self.element += 1
            self.appends[key] += 1
            if self.appends[key] == KEY_APPENDS and key in self.keys:
                self.keys[self.keys.index(key)] = self.next_key
                self.next_key += 1
            return self.element

    def run(self, end):
        """`end` ends the server."""
        for thread in self.threads:
            thread.start()
        is_enough = self.enough.wait(SECONDS_MAX)
        self.may_die.set()
        end()
        self.stop.set()
        for thread in self.threads:
            thread.join()
        if self.problems:
            raise Wrong('\n'.join(self.problems[:PROBLEMS_SHOWN]))
        if not is_enough:
            raise Wrong('%d commits are missing after %d s' % (self.left, SECONDS_MAX))


def histories(workers):
    """Returns the transactions on lists, for the checker."""
    return [history.Transaction(one.name, one.operations, one.outcome, one.begin, one.end)
            for worker in workers for one in worker.attempts if one.operations]

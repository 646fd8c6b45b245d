# SPDX-License-Identifier: Apache-2.0
"""Rounds of transactions of 2 to 64 sessions, with checkpoints and definition changes at the same time, until the server is
killed. After the restart, what was acknowledged is there and what was not committed is not; no money is created or lost;
no transaction has seen what snapshot isolation forbids; and a change stream of everything, resumed, tells what makes the same
collections of those of the last round. FRESHET_TRANSACTION_ROUNDS is the number of rounds."""
import collections
import contextlib
import os
import random
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import change_mirror  # noqa: E402
import crash_rounds  # noqa: E402
import harness  # noqa: E402
import transaction_history as history  # noqa: E402
import transaction_load as load  # noqa: E402
import bson  # noqa: E402  (after transaction_load, which finds pymongo)
from transaction_history import Transaction  # noqa: E402
from transaction_load import Wrong  # noqa: E402

ROUNDS = int(os.environ.get('FRESHET_TRANSACTION_ROUNDS') or 200)
SESSIONS = (2, 4, 8, 16, 32, 64)


class Stream:
    """A change stream of all databases, and what its events make."""

    def __init__(self, port):
        self.mirror = change_mirror.Mirror()
        with contextlib.closing(load.Wire(port)) as wire:
            self.token = self.open(wire, {})['postBatchResumeToken']

    @staticmethod
    def open(wire, options):
        stage = {'$changeStream': {'allChangesForCluster': True, 'showExpandedEvents': True, **options}}
        return wire.ask('admin', {'aggregate': 1, 'pipeline': [stage], 'cursor': {}})['cursor']

    def check(self, wire):
        """Reads on to now. REQUIRES: nothing is changed meanwhile."""
        end = wire.ask('other', {'insert': 'end', 'documents': [{}]}) and wire.ask('other', {'find': 'end'})['cursor']['firstBatch'][-1]['_id']
        cursor, batch = self.open(wire, {'resumeAfter': self.token}), 'firstBatch'
        number = cursor['id']
        while True:
            for event in cursor[batch]:
                self.mirror.apply(event)
                self.token = event['_id']
                if event.get('documentKey') == {'_id': end}:
                    wire.ask('admin', {'killCursors': '$cmd.aggregate', 'cursors': [number]})
                    return self.compare(wire)
            cursor, batch = wire.ask('admin', {'getMore': bson.Int64(number), 'collection': '$cmd.aggregate'})['cursor'], 'nextBatch'

    def compare(self, wire):
        stored = {}
        for db in [one['name'] for one in wire.ask('admin', {'listDatabases': 1, 'nameOnly': True})['databases']]:
            if db not in ('admin', 'config', 'local'):
                for one in wire.ask(db, {'listCollections': 1, 'nameOnly': True})['cursor']['firstBatch']:
                    stored[(db, one['name'])] = wire.find_all(db, one['name'])
        difference = self.mirror.difference(stored)
        if difference is not None:
            raise Wrong('the events: ' + difference)


class Judge:
    """Compares what is there after a restart with what the sessions of the round know."""

    def __init__(self, port, workers, before, work, stream):
        self.stream = stream
        self.wire, self.workers, self.work, self.totals = load.Wire(port), workers, work, work.totals
        self.before = before  # the accounts when the round began
        self.attempts = [one for worker in workers for one in worker.attempts]

    def ask_again(self):
        """Each session repeats the commit of its last transaction. The answers decide unknown outcomes."""
        for worker in self.workers:
            last = worker.attempts[-1] if worker.attempts else None
            if last is not None and last.retryable:
                self.send_again(worker.session, last)
                continue
            try:
                is_committed = last and worker.session.is_committed()
            except load.Failed as failed:
                raise Wrong('a commit repeated after the restart: %s, of %s' % (failed, last)) from failed
            finally:
                worker.session.wire.close()  # it may not work in the next round
            if last is None or (last.outcome != 'fail' and not last.has_written):
                continue  # the server keeps no record of a commit without writes
            if last.outcome == 'info':
                last.outcome = 'ok' if is_committed else 'fail'
                self.totals['commits in flight, %s' % ('done' if is_committed else 'not done')] += 1
            elif is_committed != (last.outcome == 'ok'):
                raise Wrong('a repeated commit says %s of %s' % (is_committed, last))

    def send_again(self, session, last):
        if last.outcome != 'fail':
            session.ask(load.TOUCHED[0], last.retryable)
        if session.is_committed():
            raise Wrong('a repeated commit says that a write is a transaction: %s' % last)
        session.wire.close()
        if last.outcome == 'info':
            self.work.was_touched(last.retryable['updates'][0]['q']['_id'])
            last.outcome = 'ok'

    def read_all(self):
        """Reads everything in one snapshot."""
        session = load.Session(self.wire.connection.port, self.wire)
        session.begin('snapshot')
        self.accounts = {('%s.%s' % place, one['_id']): one for place in load.ACCOUNTS + (load.TOUCHED,) for one in session.read(place, batch=1000)}
        self.ledger = {one['_id']: one for one in session.read(load.LEDGER, batch=1000)}
        self.pads = [one['of'] for one in session.read(load.PADS, batch=1000, projection={'of': 1})]
        self.lists = {one['_id']: one['v'] for place in load.LISTS for one in session.read(place, batch=1000)}
        session.commit()

    def check_bank(self):
        for one in self.attempts:
            is_there = one.name in self.ledger
            if one.moves and one.outcome != 'info' and is_there != (one.outcome == 'ok'):
                raise Wrong('the ledger %s %s' % ('has' if is_there else 'lacks', one))
        pads = {name: entry['pads'] for name, entry in self.ledger.items() if entry['pads']}
        if collections.Counter(self.pads) != pads:
            raise Wrong('of large transactions %s are there instead of %s' % (collections.Counter(self.pads), pads))
        self.totals['large'] += len(pads)
        balances, lives = collections.Counter(), collections.Counter()
        for account, document in self.before.items():
            balances[account], lives[account] = document['balance'], 1
        for entry in self.ledger.values():
            for move in entry['moves']:
                balances[tuple(move['account'])] += move['by']
                lives[tuple(move['account'])] += move['life']
        for account in set(lives) | set(self.accounts):
            found = self.accounts.get(account)
            least = balances[account] + (self.work.touched[account[1]] if account[0] == '%s.%s' % load.TOUCHED else 0)
            most = least + (self.work.unsure[account[1]] if account[0] == '%s.%s' % load.TOUCHED else 0)
            if (found is not None) != (lives[account] == 1) or not least <= (found['balance'] if found else 0) <= most:
                touching = [str(one) for one in self.attempts if any(move[0] == account for move in one.moves)]
                raise Wrong('%s: found %s, the ledger says %s (%d times there)\n%s'
                            % (account, found, least, lives[account], '\n'.join(touching)))
        total = sum(one['balance'] for (place, _), one in self.accounts.items() if place != '%s.%s' % load.TOUCHED)
        if total != load.TOTAL:
            raise Wrong('%d in all instead of %d' % (total, load.TOTAL))

    def check_lists(self):
        checked = history.check(load.histories(self.workers), self.lists)
        if checked.anomalies:
            raise Wrong(checked.text())

    def check_indexes(self):
        for db, name in load.ACCOUNTS + load.LISTS + (load.LEDGER, load.PADS, load.TOUCHED):
            try:
                report = self.wire.ask(db, {'validate': name, 'full': True})
            except load.Failed as failed:
                if failed.code != 26:  # there is no such collection: nothing was written there
                    raise
                continue
            if not report['valid'] or report['nrecords'] != len(self.documents_of(db, name)):
                raise Wrong('validate %s.%s: %s' % (db, name, report))

    def documents_of(self, db, name):
        if (db, name) in load.ACCOUNTS + (load.TOUCHED,):
            return [key for key in self.accounts if key[0] == '%s.%s' % (db, name)]
        if (db, name) in (load.LEDGER, load.PADS):
            return self.ledger if (db, name) == load.LEDGER else self.pads
        return [key for key in self.lists if load.Worker.place_of(key) == (db, name)]

    def put_back(self):
        """Undoes the definition changes that the kill has left half done."""
        names = [one['name'] for one in self.wire.ask('bank0', {'listCollections': 1, 'nameOnly': True})['cursor']['firstBatch']]
        if load.AWAY in names:
            if load.ACCOUNTS[1][1] in names:
                raise Wrong('a collection is there under both of its names')
            self.wire.ask('admin', {'renameCollection': 'bank0.' + load.AWAY, 'to': 'bank0.' + load.ACCOUNTS[1][1]})
        for db in ('bank0', 'lists1', 'other'):
            self.wire.ask(db, {'drop': 'uninvolved'})

    def run(self):
        """Judges the round. Returns the accounts, for the next one."""
        try:
            self.put_back()
            self.ask_again()
            self.read_all()
            self.check_bank()
            self.check_lists()
            self.check_indexes()
            self.stream.check(self.wire)
            for db, name in load.LISTS + (load.LEDGER, load.PADS):
                self.wire.ask(db, {'drop': name})
        finally:
            self.wire.close()
        for worker in self.workers:
            worker.attempts = []
        return self.accounts


def accounts_at_first():
    accounts = {('%s.%s' % place, key): load.Worker.account(key, load.BALANCE_AT_FIRST)
                for place in load.ACCOUNTS for key in range(load.ACCOUNTS_AT_FIRST)}
    return {**accounts, **{('%s.%s' % load.TOUCHED, key): load.Worker.account(key, 0) for key in range(load.TOUCHED_IDS)}}


def prepare(port):
    wire, accounts = load.Wire(port), accounts_at_first()
    for db, name in load.ACCOUNTS + (load.TOUCHED,):
        indexes = [{'key': {'balance': 1}, 'name': 'balance_1'}, {'key': {'tags': 1, 'balance': -1}, 'name': 'tags'}]
        wire.ask(db, {'createIndexes': name, 'indexes': indexes})
        wire.ask(db, {'insert': name, 'documents': [one for (place, _), one in accounts.items() if place == '%s.%s' % (db, name)]})
    wire.close()
    return accounts


class TransactionsTest(unittest.TestCase):
    def run_rounds(self, arguments, rounds):
        seed = harness.seed()
        chance, totals = random.Random(seed), collections.Counter()
        with harness.Server(arguments=arguments) as server:
            stream = Stream(server.port)
            accounts = prepare(server.port)
            workers = [load.Worker(at, seed, server.port) for at in range(max(SESSIONS))]
            began = time.monotonic()
            for turn in range(rounds):
                sessions = workers[:chance.choice(SESSIONS)]
                # A definition change aborts the transactions that have written the collection, so large ones would rarely be committed.
                kinds = (load.CHECKPOINTS, load.TOUCHES, load.CHANGES)[:2 if chance.random() < 0.4 else 3]
                beside = [(load.Beside(seed + turn, server.port), actions) for actions in kinds]
                try:
                    is_kill = chance.random() < 0.9
                    work = load.Load(sessions, beside, chance.randrange(20, 200), totals)
                    work.run(server.kill if is_kill else server.stop)
                    if not is_kill and server.process.poll() != 0:
                        raise Wrong('an orderly stop ended with %s' % server.process.poll())
                    server.arguments = arguments + (crash_rounds.LITTLE_MEMORY if chance.random() < 0.3 else [])
                    server.start()
                    accounts = Judge(server.port, sessions, accounts, work, stream).run()
                except Wrong as wrong:
                    self.fail('round %d of FRESHET_SEED=%d, %d sessions, the server ended with %s: %s\n%s'
                              % (turn, seed, len(sessions), server.process.poll(), str(wrong)[:20000], server.log_text()[-3000:]))
            print('%d rounds in %.1f s: %s' % (rounds, time.monotonic() - began, dict(sorted(totals.items(), key=str))))
        return totals

    def judge_run(self, totals, rounds):
        self.assertGreaterEqual(totals['committed'], 20 * rounds)
        for what in () if rounds < 20 else (load.WRITE_CONFLICT, 'aborted', 'left open', 'retryable', 'lost replies, committed', 'update', 'fsync', 'createIndexes', 'dropIndexes',
                     'renameCollection', 'collMod', 'create', 'drop'):
            self.assertGreater(totals[what], 0, what)

    def test_a_standalone(self):
        self.judge_run(self.run_rounds([], (ROUNDS + 1) // 2), (ROUNDS + 1) // 2)

    def test_a_replica_set_of_one(self):
        self.judge_run(self.run_rounds(['--replSet', 'rs0'], (ROUNDS + 1) // 2), (ROUNDS + 1) // 2)

    def test_the_judge_finds_what_was_tampered_with(self):
        seed = harness.seed()
        with harness.Server() as server:
            stream = Stream(server.port)
            accounts = prepare(server.port)
            workers = [load.Worker(at, seed, server.port) for at in range(8)]
            work = load.Load(workers, [], 200, collections.Counter())
            work.run(server.kill)
            server.start()
            with server.client() as client:
                bank, savings, ledger = client.bank0.accounts, client.bank0.savings, client.bank1.ledger
                entry = next(ledger.find({'moves.by': {'$nin': [0]}}))
                lists = next(one for one in client.lists0.lists.find() if len(one['v']) > 2)
                account = next(bank.find())
                for what, do, undo in (
                        ('money made', lambda: bank.update_one(account, {'$inc': {'balance': 1}}), lambda: bank.replace_one({'_id': account['_id']}, account)),
                        ('money moved', lambda: (bank.update_one({}, {'$inc': {'balance': 1}}), savings.update_one({}, {'$inc': {'balance': -1}})),
                         lambda: (bank.update_one({}, {'$inc': {'balance': -1}}), savings.update_one({}, {'$inc': {'balance': 1}}))),
                        ('a commit lost', lambda: ledger.delete_one(entry), lambda: ledger.insert_one(entry)),
                        ('an append lost', lambda: client.lists0.lists.update_one(lists, {'$pop': {'v': 1}}),
                         lambda: client.lists0.lists.replace_one({'_id': lists['_id']}, lists)),
                        ('appends swapped', lambda: client.lists0.lists.update_one(lists, {'$set': {'v': lists['v'][1::-1] + lists['v'][2:]}}),
                         lambda: client.lists0.lists.replace_one({'_id': lists['_id']}, lists))):
                    do()
                    with self.subTest(what), self.assertRaises(Wrong):
                        Judge(server.port, workers, accounts, work, stream).run()
                    undo()
            Judge(server.port, workers, accounts, work, stream).run()
            stream.mirror.collections[('bank0', 'accounts')].popitem()
            with contextlib.closing(load.Wire(server.port)) as wire, self.assertRaises(Wrong):
                stream.check(wire)


def append(key, *elements):
    return [('append', key, element) for element in elements]


def read(key, *elements):
    return [('read', key, list(elements))]


class HistoryTest(unittest.TestCase):
    """The checker finds each anomaly, and nothing where there is none."""

    def kinds(self, final, *transactions):
        """Of transactions given as (operations, outcome, begin, end) or only operations, named t1, t2, ..."""
        whole = [one if isinstance(one, tuple) else (one,) for one in transactions]
        return sorted(history.check([Transaction('t%d' % (at + 1), *one) for at, one in enumerate(whole)], final).anomalies)

    def test_one_after_the_other(self):
        self.assertEqual(self.kinds({1: [1, 2, 3], 2: [4]},
                                    (read(1) + append(1, 1), 'ok', 0, 1), (read(1, 1) + append(1, 2, 3) + append(2, 4), 'ok', 2, 3),
                                    (read(1, 1, 2, 3) + read(2, 4), 'ok', 4, 5), (append(2, 9), 'fail', 4, 5), (append(1, 8), 'info', 4)), [])

    def test_write_skew_is_allowed(self):
        self.assertEqual(self.kinds({1: [1], 2: [2]}, (read(2) + append(1, 1), 'ok', 0, 9), (read(1) + append(2, 2), 'ok', 0, 9)), [])

    def test_an_old_snapshot_is_allowed_while_they_overlap(self):
        self.assertEqual(self.kinds({1: [1], 2: [2]}, (append(1, 1) + append(2, 2), 'ok', 1, 2), (read(1) + read(2), 'ok', 0, 3)), [])

    def test_internal(self):
        self.assertEqual(self.kinds({1: [1]}, append(1, 1) + read(1)), [history.INTERNAL])
        self.assertEqual(self.kinds({1: [1]}, append(1, 1), read(1) + read(1, 1)), [history.INTERNAL])
        self.assertEqual(self.kinds({1: [1, 2]}, append(1, 1), read(1) + append(1, 2) + read(1, 1, 2)), [history.INTERNAL])

    def test_garbage(self):
        self.assertIn(history.GARBAGE, self.kinds({1: [1, 7]}, append(1, 1)))
        self.assertIn(history.GARBAGE, self.kinds({1: [1, 1]}, append(1, 1)))
        self.assertIn(history.GARBAGE, self.kinds({1: [1]}, append(1, 1), read(1, 1, 8)))

    def test_aborted_read(self):
        self.assertEqual(self.kinds({1: []}, (append(1, 1), 'fail'), read(1, 1)), [history.ABORTED_READ])
        self.assertEqual(self.kinds({1: [1]}, (append(1, 1), 'fail')), [history.ABORTED_READ])

    def test_intermediate_read(self):
        self.assertEqual(self.kinds({1: [1, 2]}, append(1, 1, 2), read(1, 1)), [history.INTERMEDIATE])
        self.assertEqual(self.kinds({1: [1, 2]}, append(1, 1, 2), (read(1, 1), 'fail')), [history.INTERMEDIATE])

    def test_partial_commit(self):
        self.assertEqual(self.kinds({1: [1]}, (append(1, 1) + append(2, 2), 'info')), [history.PARTIAL])

    def test_lost_write(self):
        self.assertEqual(self.kinds({1: [1]}, append(1, 1), append(2, 2)), [history.LOST])

    def test_what_was_seen_is_not_lost(self):
        self.assertEqual(self.kinds({1: [1]}, append(1, 1), (append(1, 2), 'info'), read(1, 1, 2)), [history.UNSTABLE])
        self.assertEqual(self.kinds({1: [1]}, append(1, 1), (append(1, 2), 'info'), (read(1, 1, 2), 'fail')), [])

    def test_no_order(self):
        self.assertEqual(self.kinds({1: [1, 2]}, append(1, 1), append(1, 2), read(1, 2, 1)), [history.ORDER])
        self.assertEqual(self.kinds({1: [1, 2]}, append(1, 1), append(1, 2), (append(1, 3), 'info'), (read(1, 1, 3, 2), 'fail')), [history.ORDER])

    def test_lost_update(self):
        self.assertEqual(self.kinds({1: [1, 2]}, read(1) + append(1, 1), read(1) + append(1, 2)), [history.LOST_UPDATE])

    def test_dirty_write(self):
        self.assertEqual(self.kinds({1: [1, 3], 2: [4, 2]}, append(1, 1) + append(2, 2), append(1, 3) + append(2, 4)), [history.DIRTY_WRITE])
        self.assertEqual(self.kinds({1: [1, 3, 2]}, append(1, 1, 2), append(1, 3)), [history.DIRTY_WRITE])

    def test_circular(self):
        self.assertEqual(self.kinds({1: [1], 2: [2]}, append(1, 1) + read(2, 2), append(2, 2) + read(1, 1)), [history.CIRCULAR])

    def test_read_skew(self):
        self.assertEqual(self.kinds({1: [1], 2: [2]}, append(1, 1) + append(2, 2), read(1) + read(2, 2)), [history.READ_SKEW])
        self.assertEqual(self.kinds({1: [1], 2: [2]}, append(1, 1) + append(2, 2), (read(1, 1) + read(2), 'fail')), [history.READ_SKEW])

    def test_long_fork(self):
        self.assertEqual(self.kinds({1: [1], 2: [2]}, append(1, 1), append(2, 2), read(1, 1) + read(2), read(1) + read(2, 2)), [history.LONG_FORK])

    def test_stale_read(self):
        self.assertEqual(self.kinds({1: [1]}, (append(1, 1), 'ok', 0, 1), (read(1), 'ok', 2, 3)), [history.STALE])
        self.assertEqual(self.kinds({1: [1]}, (append(1, 1), 'ok', 0, 1), (read(1), 'ok', 0, 3)), [])

    def test_a_disturbed_history_of_a_serial_machine(self):
        """A serial history has no anomaly. It has one when a read misses the newest element, or when an append is missing at the end."""
        chance = random.Random(harness.seed())
        for _ in range(20):
            state, transactions, element = {key: [] for key in range(4)}, [], 0
            for at in range(100):
                operations = []
                for key in chance.sample(range(4), 2):
                    operations += read(key, *state[key])
                    element += 1
                    operations += append(key, element)
                    state[key] = state[key] + [element]
                transactions.append((operations, 'ok', 2 * at, 2 * at + 1))
            self.assertEqual(self.kinds(state, *transactions), [])
            disturbed = chance.randrange(50, 100)
            operations = list(transactions[disturbed][0])
            operations[0] = (*operations[0][:2], operations[0][2][:-1])
            self.assertNotEqual(self.kinds(state, *transactions[:disturbed], (operations, *transactions[disturbed][1:]), *transactions[disturbed + 1:]), [])
            key, element = operations[1][1:]
            self.assertNotEqual(self.kinds({**state, key: [one for one in state[key] if one != element]}, *transactions), [])


if __name__ == '__main__':
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Damage and repair, end to end. Each round writes known documents, ends the server, and damages the data
directory: bytes of the data file or of the journal are changed or zeroed, blocks change places, a file is cut or
removed. Then the start refuses and names the place, or the server serves every document, but for those on pages that
cannot be read: whoever asks for one is refused, and the log names the place. After --repair, what is not told as
lost must be there, nothing that never was, and the server's own check must find nothing wrong.

What may be missing depends on what was told: a document's _id; a range of record ids; a piece of the journal, with
which changes since the last checkpoint go; a checkpoint, with which more of them go. See `Told`.
"""
import json
import os
import random
import re
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

pymongo = harness.import_pymongo()
ROUNDS = int(os.environ.get('FRESHET_REPAIR_ROUNDS') or 24)
BLOCK = 4096
SUPERBLOCKS = 2
EXIT_DAMAGED = 3
EXIT_REPAIRED_WITH_LOSS = 4
PLACE = re.compile(r'data\.freshet|freshet\.id|journal/j\.[0-9a-f]{8} at offset \d+|records from \d+ are missing|page \d+')
UNREADABLE = re.compile(r'a page cannot be read: .*(data\.freshet|page \d+)')
INDEXES = {'n_1': [('n', 1)], 'tags_1': [('tags', 1)]}
COLLECTIONS = ('first', 'second')
FIRST_TREE = 2  # of the first collection; ids are given one by one, to the records and to each index
TREES_EACH = 2 + len(INDEXES)  # of the collections here
OWN = {'admin': 'system.version', 'config': 'system.sessions', 'local': 'startup_log'}  # the server makes them when it starts
DOCUMENTS = 1500


def make(key, revision):
    return {'_id': key, 'n': key * 7 % 101, 'revision': revision, 'tags': ['t%d' % (key % 5), revision],
            'pad': 'p%d' % revision * (5000 if key % 97 == 0 else 150)}


class History:
    """What each document has been, oldest state first; None is gone."""

    def __init__(self, chance):
        self.chance, self.states, self.revision = chance, {name: {} for name in COLLECTIONS}, 0
        self.records = {name: {} for name in COLLECTIONS}  # key: the ids of its records
        self.next_record = {name: 1 for name in COLLECTIONS}

    def note(self, name, key, state):
        states = self.states[name].setdefault(key, [None])
        if states[-1] is None and state is not None:
            self.records[name].setdefault(key, []).append(self.next_record[name])
            self.next_record[name] += 1
        states.append(state)

    def change(self, client, count):
        for _ in range(count):
            name, self.revision = self.chance.choice(COLLECTIONS), self.revision + 1
            key = self.chance.randrange(DOCUMENTS)
            is_there = self.states[name][key][-1] is not None
            state = None if is_there and self.chance.random() < 0.3 else make(key, self.revision)
            if state is None:
                client.repair[name].delete_one({'_id': key})
            else:
                client.repair[name].replace_one({'_id': key}, state, upsert=True)
            self.note(name, key, state)

    def tree_words(self):
        """{tree: what an administrator is told of damage there}"""
        words = {tree: r'repair\.%s: documents were on a damaged page, of records from' % name for name, tree in self.record_trees.items()}
        return {**words, self.record_trees['first'] + 2: r'repair\.first: index n_1, .*keys.*, was on a damaged page'}

    def find_trees(self, client):
        """REQUIRES: the collections here are made next."""
        for database, collection in OWN.items():
            while collection not in client[database].list_collection_names():
                time.sleep(0.01)
        there = [client[database][name] for database in client.list_database_names() for name in client[database].list_collection_names()]
        next_tree = FIRST_TREE + sum(1 + len(collection.index_information()) for collection in there)
        self.record_trees = {name: next_tree + TREES_EACH * number for number, name in enumerate(COLLECTIONS)}

    def fill(self, client):
        self.find_trees(client)
        for name in COLLECTIONS:
            for index, keys in INDEXES.items():
                client.repair[name].create_index(keys, name=index)
        for name in COLLECTIONS:
            documents = [make(key, 0) for key in range(DOCUMENTS)]
            client.repair[name].insert_many(documents)
            for doc in documents:
                self.note(name, doc['_id'], doc)

    def settle(self):
        """All is in a checkpoint."""
        self.settled = {(name, key): len(states) - 1 for name in COLLECTIONS for key, states in self.states[name].items()}


class Told:
    """What --repair has said is lost, and what may therefore be found."""

    def __init__(self, log, history):
        self.history, self.lines = history, []
        for line in log.splitlines():
            if line.startswith('{'):
                entry = json.loads(line)
                if entry['msg'] == 'Repair gave up damaged data':
                    self.lines.append(entry['attr']['what'])
        text = '\n'.join(self.lines)
        self.documents = {(name, int(key)) for name, key in re.findall(r'repair\.(\w+): a document, its _id: (\d+)', text)}
        self.checkpoint = bool(re.search(r'checkpoint \d+ was complete', text))
        self.journal = bool(re.search(r'journal/j\.|are missing', text))
        self.names = 'local.orphan' in text
        self.ranges = [(int(tree), self.record(low, 0), self.record(high, 1 << 64)) for tree, low, high in
                       re.findall(r"tree (\d+) had the keys from x'(\w*)' to x'(\w*)'", text)]
        self.ranges += [(int(tree), self.record(key, 0), self.record(key, 0) + 1) for tree, key in
                        re.findall(r"tree (\d+) had the value of key x'(\w*)'", text)]

    @staticmethod
    def record(digits, default):
        return int((digits + '0' * 16)[:16], 16) if digits else default

    def allows(self, name, key, state):
        states = self.history.states[name][key]
        if self.checkpoint and state in states:
            return True
        if self.journal and state in states[self.history.settled[name, key]:]:
            return True
        return state == states[-1] or state is None and ((name, key) in self.documents or self.is_in_range(name, key))

    def is_in_range(self, name, key):
        return any(tree == self.history.record_trees[name] and low <= record < high
                   for tree, low, high in self.ranges for record in self.history.records[name][key])


class Damage:
    """Ways to damage the files of a directory; each returns what it did."""

    def __init__(self, directory, chance):
        self.directory, self.chance = directory, chance
        self.data = directory + '/data.freshet'

    def journals(self):
        folder = self.directory + '/journal'
        return [folder + '/' + name for name in sorted(os.listdir(folder)) if name.startswith('j.')]

    def block(self):
        return self.chance.randrange(SUPERBLOCKS, os.path.getsize(self.data) // BLOCK)

    def write(self, path, offset, data):
        with open(path, 'r+b') as file:
            file.seek(offset)
            file.write(data)
        return '%s: %d bytes at %d' % (path, len(data), offset)

    def bytes_of_pages(self):
        return '; '.join(self.write(self.data, self.block() * BLOCK + self.chance.randrange(BLOCK - 8), self.chance.randbytes(8))
                         for _ in range(self.chance.choice((1, 3, 30))))

    def zeroed_blocks(self):
        return self.write(self.data, self.block() * BLOCK, bytes(BLOCK * self.chance.choice((1, 1, 8))))

    def blocks_that_changed_places(self):
        with open(self.data, 'rb') as file:
            file.seek(self.block() * BLOCK)
            block = file.read(BLOCK)
        return self.write(self.data, self.block() * BLOCK, block)

    def cut_data(self):
        size = self.chance.randrange(SUPERBLOCKS * BLOCK, os.path.getsize(self.data))
        os.truncate(self.data, size)
        return '%s cut to %d' % (self.data, size)

    def superblock(self):
        return self.write(self.data, self.chance.randrange(SUPERBLOCKS) * BLOCK + self.chance.randrange(64), b'\x5a\xa5')

    def bytes_of_the_journal(self):
        path = self.chance.choice(self.journals())
        with open(path, 'rb') as file:
            used = len(file.read().rstrip(b'\0'))
        return self.write(path, self.chance.randrange(max(used, 1)), self.chance.randbytes(8))

    def cut_journal(self):
        path = self.journals()[-1]
        with open(path, 'rb') as file:
            used = len(file.read().rstrip(b'\0'))
        size = self.chance.randrange(max(used, 1))
        os.truncate(path, size)
        return '%s cut to %d' % (path, size)

    def removed_journal(self):
        path = self.chance.choice(self.journals())
        os.remove(path)
        return path + ' removed'

    def identity(self):
        path = self.directory + '/freshet.id'
        if self.chance.random() < 0.5:
            os.remove(path)
            return path + ' removed'
        return self.write(path, self.chance.randrange(60), b'\x5a\xa5')

    KINDS = (bytes_of_pages, zeroed_blocks, bytes_of_the_journal, blocks_that_changed_places, cut_data, bytes_of_pages,
             cut_journal, superblock, removed_journal, identity)


class RepairTest(unittest.TestCase):
    def run_round(self, chance, kind, outcomes):
        server = harness.Server(arguments=['--syncdelay', '3600'])
        try:
            history = History(chance)
            with server.start().client() as client:
                history.fill(client)
                client.admin.command('fsync')
                history.settle()
                for _ in range(chance.randrange(3)):
                    history.change(client, chance.randrange(1, 200))
                    client.admin.command('fsync')
                    history.settle()
                history.change(client, chance.randrange(200))
            if chance.random() < 0.3:
                self.assertEqual(server.stop(), 0)
                history.settle()
            else:
                server.kill()
            line = kind(Damage(server.directory + '/db', chance))
            try:
                self.judge(server, history, outcomes, line)
            except AssertionError as problem:
                raise AssertionError('after %s: %s\n%s' % (line, problem, server.log_text()[-3000:])) from problem
        finally:
            server.__exit__()

    def judge(self, server, history, outcomes, line):
        mark = os.path.getsize(server.log)
        try:
            server.start()
        except AssertionError:
            self.assertEqual(server.process.returncode, EXIT_DAMAGED)
            self.assertRegex(server.log_text()[mark:], PLACE)
        else:
            # A cut end of the journal cannot be told from one that was never written.
            told = Told('', history)
            told.journal = 'journal' in line
            if self.is_served(server, told, mark):
                outcomes['served'] = outcomes.get('served', 0) + 1
                return
            outcomes['refused when read'] = outcomes.get('refused when read', 0) + 1
        repaired = subprocess.run(server.command() + ['--repair'], capture_output=True, text=True, errors='replace')
        if repaired.returncode not in (0, EXIT_REPAIRED_WITH_LOSS):
            self.assertEqual(repaired.returncode, EXIT_DAMAGED, repaired.stdout)
            self.assertRegex(repaired.stdout, PLACE)
            outcomes['beyond repair'] = outcomes.get('beyond repair', 0) + 1
            print('beyond repair: %s: %s' % (line, repaired.stdout[-400:]))
            return
        told = Told(repaired.stdout, history)
        self.assertEqual(repaired.returncode, EXIT_REPAIRED_WITH_LOSS if told.lines else 0, repaired.stdout)
        words = history.tree_words()
        for tree in {tree for tree, _, _ in told.ranges} & set(words):
            if not told.names:
                self.assertRegex('\n'.join(told.lines), words[tree])
        server.start()
        self.verify(server, told)
        outcomes['repaired'] = outcomes.get('repaired', 0) + 1

    def is_served(self, server, told, mark):
        """False: some pages cannot be read. Whatever is served is right all the same."""
        try:
            self.verify(server, told)
            return True
        except (AssertionError, pymongo.errors.OperationFailure):
            if not UNREADABLE.search(server.log_text()[mark:]):
                raise
        with server.client() as client:
            for name in COLLECTIONS:
                self.verify_one_by_one(client.repair[name], told)
                self.verify_report(client.repair[name])
        self.assertEqual(server.stop(), 0)
        return False

    def verify_one_by_one(self, collection, told):
        for key in range(DOCUMENTS):
            try:
                found = collection.find_one({'_id': key})
            except pymongo.errors.OperationFailure:
                continue
            if not told.allows(collection.name, key, found):
                self.fail('%s %s: found %.200s beside pages that cannot be read' % (collection.name, key, found))

    def verify_report(self, collection):
        """The server's own check goes on behind pages that cannot be read, and says what they had."""
        report = collection.database.command('validate', collection.name)
        lost = sum(int(count) for error in report['errors']
                   for count in re.findall(r'^records from .*?, (\d+) of them, cannot be read', error))
        self.assertEqual(report['nrecords'] + lost, collection.estimated_document_count(), report)
        self.assertEqual(report['valid'], not report['errors'], report)

    def verify(self, server, told):
        with server.client() as client:
            names = set(client.repair.list_collection_names())
            if not told.names:
                self.assertEqual(names, set(COLLECTIONS))
            for name in names:
                self.verify_collection(client.repair[name], told)
            for name in client['local'].list_collection_names():
                self.assertTrue(client['local'].command('validate', name)['valid'])
        self.assertEqual(server.stop(), 0)

    def verify_collection(self, collection, told):
        report = collection.database.command('validate', collection.name)
        self.assertTrue(report['valid'], report)
        found = {doc['_id']: doc for doc in collection.find()}
        self.assertLessEqual(set(found), set(range(DOCUMENTS)))
        for key in range(DOCUMENTS):
            if not told.allows(collection.name, key, found.get(key)):
                self.fail('%s %s: found %.200s of %.400s; told: %s' % (
                    collection.name, key, found.get(key), told.history.states[collection.name][key],
                    '\n'.join(line for line in told.lines if 'its _id' not in line)))
        for keys in INDEXES.values():
            self.assertEqual(len(list(collection.find({}, {'_id': 1}, hint=keys))), len(found))

    def test_what_is_not_told_as_lost_is_there(self):
        seed, outcomes = harness.seed(), {}
        for turn in range(ROUNDS):
            chance = random.Random('%d/%d' % (seed, turn))
            self.run_round(chance, Damage.KINDS[turn % len(Damage.KINDS)], outcomes)
        print('%d rounds: %s' % (ROUNDS, ', '.join('%s %d' % item for item in sorted(outcomes.items()))))
        self.assertGreater(outcomes.get('repaired', 0), ROUNDS // 6)


if __name__ == '__main__':
    unittest.main()

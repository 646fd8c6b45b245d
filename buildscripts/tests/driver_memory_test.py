#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data several times as large as the memory it may take, as a driver sees it: whatever is asked is answered
right, before and after restarts, and the process stays as small as it was told to be."""
import os
import random
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

pymongo = harness.import_pymongo()

LIMIT = 24 << 20
DOCUMENTS = 40000  # 90 MB
PAD = 2000
THREADS = 4
CHANGES = 1500  # of a thread
# What the process takes beside data when it has just started is measured; this is for what commands,
# connections and the allocator need at work.
AT_WORK = 40 << 20


def document(number, version=0):
    pad = '%d/%d ' % (number, version)
    return {'_id': number, 'k': number * 7919 % 1000003, 'v': version, 'g': number % 40,
            'tags': ['a%d' % (number % 900), 'b%d' % (number % 7)], 'pad': (pad * PAD)[:PAD]}


def in_threads(work):
    """Runs work(0), work(1), ... side by side; raises what one of them has raised."""
    problems = []

    def guarded(number):
        try:
            work(number)
        except BaseException as problem:  # pylint: disable=broad-except
            problems.append(problem)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


class MemoryTest(unittest.TestCase):
    def setUp(self):
        self.seed = harness.seed()
        self.server = self.enterContext(harness.Server(
            arguments=['--memoryLimitGB', str(LIMIT / (1 << 30)), '--syncdelay', '2']))
        self.model = {}
        self.connect()

    def connect(self):
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        self.docs = self.client.test.docs
        self.client.admin.command('ping')
        self.at_start = self.resident('VmRSS')

    def resident(self, name):
        with open('/proc/%d/status' % self.server.process.pid, encoding='utf-8') as lines:
            return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name + ':'))

    def engine(self):
        return self.client.admin.command('serverStatus')['freshet']['engine']

    def check_size(self):
        told = self.engine()
        print('at start %d MB, at most %d MB; %s' % (
            self.at_start >> 20, self.resident('VmHWM') >> 20,
            {name: told[name] for name in ('memoryBytes', 'leavesRead', 'leavesEvicted', 'pages', 'checkpoints')}), flush=True)
        self.assertEqual(told['memoryBytesMax'], LIMIT)
        self.assertLess(told['memoryBytes'], LIMIT * 1.1)
        self.assertLess(self.resident('VmHWM'), self.at_start + LIMIT * 1.1 + AT_WORK)

    def fill(self):
        def insert(thread):
            for begin in range(thread * 500, DOCUMENTS, THREADS * 500):
                self.docs.insert_many([document(number) for number in range(begin, begin + 500)], ordered=False)
        in_threads(insert)
        self.model = {number: document(number) for number in range(DOCUMENTS)}

    def build_indexes(self):
        self.docs.create_index('k', unique=True)
        self.docs.create_index('tags')

    def change(self):
        """Each thread has its own documents, so that each knows what it must find."""
        def work(thread):
            chance = random.Random('%d/%d' % (self.seed, thread))
            mine = [number for number in self.model if number % THREADS == thread]
            for turn in range(CHANGES):
                number = chance.choice(mine)
                found = self.docs.find_one({'_id': number} if turn % 2 else {'k': number * 7919 % 1000003})
                self.assertEqual(found, self.model.get(number))
                self.change_one(number, chance.random())
        in_threads(work)

    def change_one(self, number, roll):
        was = self.model.get(number)
        if was is None:
            self.model[number] = document(number, 1)
            self.docs.insert_one(self.model[number])
        elif roll < 0.5:
            after = document(number, was['v'] + 1)
            self.assertEqual(self.docs.replace_one({'_id': number}, after).modified_count, 1)
            self.model[number] = after
        elif roll < 0.7:
            self.assertEqual(self.docs.delete_one({'k': was['k']}).deleted_count, 1)
            del self.model[number]

    def check_all(self):
        """Scans in both orders, an index, groups, and the server's own check."""
        count = 0
        for found in self.docs.find().sort('_id', 1).batch_size(400):
            self.assertEqual(found, self.model[found['_id']])
            count += 1
        self.assertEqual(count, len(self.model))
        found = [one['_id'] for one in self.docs.find({}, {'_id': 1}).sort('k', -1).hint('k_1')]
        self.assertEqual(found, sorted(self.model, key=lambda number: -self.model[number]['k']))
        sums = {}
        for one in self.model.values():
            sums[one['g']] = sums.get(one['g'], 0) + one['v'] + 1
        groups = self.docs.aggregate([{'$group': {'_id': '$g', 'sum': {'$sum': {'$add': ['$v', 1]}}}}])
        self.assertEqual({one['_id']: one['sum'] for one in groups}, sums)
        for tag in ('a17', 'a899', 'b3'):
            self.assertEqual(self.docs.count_documents({'tags': tag}),
                             sum(tag in one['tags'] for one in self.model.values()))
        report = self.client.test.command('validate', 'docs')
        self.assertTrue(report['valid'], report)
        self.assertEqual(report['nrecords'], len(self.model))

    def test_more_data_than_memory(self):
        self.fill()
        self.build_indexes()
        self.change()
        self.check_all()
        told = self.engine()
        self.assertGreater(told['leavesEvicted'], told['pages'] / 2)
        self.assertGreater(told['leavesRead'], told['pages'] / 2)
        self.check_size()
        self.client.close()
        self.assertEqual(self.server.stop(), 0)

        self.server.start()
        self.connect()
        self.check_all()
        self.change()
        self.check_size()
        self.client.close()
        self.server.kill()

        self.server.start()
        self.connect()
        self.check_all()
        self.check_size()


if __name__ == '__main__':
    unittest.main()

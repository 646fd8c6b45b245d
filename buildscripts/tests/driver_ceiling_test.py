#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The memory ceiling holds for all that requests can make the server hold: each attack alone, then all at once,
beside a client that is served."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attacks  # noqa: E402
import harness  # noqa: E402

SECONDS_EACH, SECONDS_ALL = 4, 12
PING_SECONDS_MAX = 5  # the machine has two cores and many tests; the figure is in docs/benchmarks/memory.md


class CeilingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(arguments=['--memoryLimitGB', str(attacks.CEILING)]).start()
        cls.addClassCleanup(cls.server.__exit__)
        attacks.prepare(cls.server)

    def survive(self, which, seconds):
        with attacks.Bystander(self.server) as bystander:
            problems = attacks.attack(self.server, which, seconds)
        self.assertIsNone(self.server.process.poll(), self.server.log_text()[-2000:])
        self.assertIsNone(bystander.problem)
        print('%s: at most %d MB, slowest ping %d ms, %d answers' % (
            ' '.join(one.__name__ for one in which), bystander.peak >> 20, bystander.slowest * 1000, bystander.served))
        self.assertLessEqual(bystander.peak, attacks.RESIDENT_MAX)
        self.assertLess(bystander.slowest, PING_SECONDS_MAX)
        return problems

    def test_all_at_once(self):
        # What an attack is refused with depends on the others then.
        self.survive(attacks.ALL, SECONDS_ALL)


def alone(one):
    def test(self):
        self.assertEqual(self.survive([one], SECONDS_EACH), [])
    return test


for each in attacks.ALL:
    setattr(CeilingTest, 'test_' + each.__name__, alone(each))


class LargeDocumentsTest(unittest.TestCase):
    """What an application does to documents of 16 MB goes well under the same ceiling."""
    SIZE = 16_000_000

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(arguments=['--memoryLimitGB', str(attacks.CEILING)]).start()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = cls.server.client()
        cls.addClassCleanup(cls.client.close)

    def setUp(self):
        self.collection = self.client.large.documents
        self.collection.drop()
        self.collection.insert_one({'_id': 1, 'text': 'a' * self.SIZE})

    def expect(self, letter, **fields):
        found = self.collection.find_one({'_id': 1})
        self.assertEqual(found.pop('text'), letter * self.SIZE)
        self.assertEqual(found, {'_id': 1, **fields})

    def test_a_field_beside_the_large_one(self):
        for number in range(1, 4):
            self.collection.update_many({}, {'$inc': {'number': 1}})
            self.expect('a', number=number)

    def test_the_large_field(self):
        for letter in 'bcd':
            self.collection.update_one({'_id': 1}, {'$set': {'text': letter * self.SIZE}})
            self.expect(letter)

    def test_the_whole_document(self):
        for letter in 'bcd':
            self.collection.replace_one({'_id': 1}, {'text': letter * self.SIZE})
            self.expect(letter)

    def test_a_pipeline(self):
        for number in range(1, 4):
            self.collection.update_many({}, [{'$set': {'number': number}}, {'$unset': 'nothing'}])
            self.expect('a', number=number)

    def test_a_document_that_is_returned(self):
        for after in (False, True):
            found = self.collection.find_one_and_update({'_id': 1}, {'$set': {'text': 'b' * self.SIZE}}, return_document=after)
            self.assertEqual(found, {'_id': 1, 'text': ('b' if after else 'a') * self.SIZE})
        self.assertEqual(self.collection.find_one_and_delete({}), found)
        self.assertEqual(self.collection.count_documents({}), 0)

    def test_an_upsert(self):
        self.collection.drop()
        self.collection.update_one({'_id': 1}, {'$set': {'text': 'b' * self.SIZE}}, upsert=True)
        self.expect('b')


if __name__ == '__main__':
    unittest.main()

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

if __name__ == '__main__':
    unittest.main()

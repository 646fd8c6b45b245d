# SPDX-License-Identifier: Apache-2.0
"""A hundred kills of the server under load, with checkpoints all the time, with and without injected faults;
nothing acknowledged may be lost. The same loop must catch builds with a planted bug. For longer runs:
buildscripts/soak."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import crash_loop  # noqa: E402
import crash_rounds  # noqa: E402
import harness  # noqa: E402

ROUNDS = int(os.environ.get('FRESHET_CRASH_ROUNDS') or 100)
ROUNDS_MUTANT = 150  # at most: each is caught within ten or so on average
KINDS = ('kill', 'fatal', 'cut', 'damage', 'leak', 'passing')


class CrashTest(unittest.TestCase):
    def test_nothing_acknowledged_is_lost(self):
        totals = crash_loop.run(KINDS, ROUNDS, harness.seed())
        print('%d rounds: %s' % (ROUNDS, totals))
        self.assertGreater(totals.operations, ROUNDS * crash_loop.WRITERS)
        self.assertEqual(len(totals.checkpoints), ROUNDS)
        self.assertGreaterEqual(min(totals.checkpoints), crash_rounds.CHECKPOINTS_MIN)
        self.assertEqual(len(totals.faults), ROUNDS - totals.outcomes['kill'])
        self.assertGreaterEqual(min(totals.faults), 1)
        self.assertGreater(totals.outcomes.get('refusals of journals', 0), 0)
        self.assertGreater(totals.outcomes.get('full disks', 0), 0)
        print('%d leaves evicted, %d read again' % (totals.evicted, totals.read))
        self.assertGreater(totals.evicted, ROUNDS)
        self.assertGreater(totals.read, ROUNDS)

    def catch(self, program, kinds):
        if not os.path.exists(harness.program(program)):
            self.skipTest('%s is not built' % program)
        with self.assertRaises(crash_loop.Lost) as caught:
            crash_loop.run(kinds, ROUNDS_MUTANT, harness.seed(), sim=program)
        print('caught: %.300s' % caught.exception)

    def test_a_build_without_the_flush_is_caught(self):
        self.catch('freshetd-sim-noflush', ('cut',))

    def test_a_build_that_believes_every_page_is_caught(self):
        self.catch('freshetd-sim-nocrc', ('datadamage',))

    def test_a_build_that_forgets_too_much_of_the_journal_is_caught(self):
        self.catch('freshetd-sim-highredo', ('cut',))


if __name__ == '__main__':
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Thirty kills of the server under load; nothing acknowledged may be lost. freshetd is killed as it is;
freshetd-sim keeps what was not flushed in its own memory, so that killing it is a power cut. The same loop
must catch a build that leaves the flush out."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import crash_loop  # noqa: E402
import harness  # noqa: E402

ROUNDS = 30
ROUNDS_MUTANT = 10


class CrashTest(unittest.TestCase):
    def test_nothing_acknowledged_is_lost(self):
        done = crash_loop.run(['freshetd', 'freshetd-sim'], ROUNDS, harness.seed())
        print('%d acknowledged operations over %d kills' % (done, ROUNDS))
        self.assertGreater(done, ROUNDS * crash_loop.WRITERS)

    def test_a_build_without_the_flush_is_caught(self):
        with self.assertRaises(crash_loop.Lost) as caught:
            crash_loop.run(['freshetd-sim-noflush'], ROUNDS_MUTANT, harness.seed())
        print('caught: %.200s' % caught.exception)


if __name__ == '__main__':
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Generated inputs: something deep, long or wide in every place of every command, stage, operator and keyword that the
server itself lists. None may end a server whose threads have 1 MiB of stack, each is answered in time with a code that
says that the input is at fault, and none takes more than n log n of processor time.

FRESHET_GENERATED_SECONDS: how long each of the three runs takes (15). FRESHET_SEED replays the order, FRESHET_CASE
(with test_replay) one input."""
import os
import random
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

harness.import_pymongo()
from generated_runs import crash_run, data_growth_run, growth_run, replay  # noqa: E402
from generated_server import Target  # noqa: E402
from generator import Language  # noqa: E402

SECONDS = float(os.environ.get('FRESHET_GENERATED_SECONDS') or 15)
# Kinds of words that are of no use when they are never accepted: the generator does not get behind their parsers.
MUST_BE_ACCEPTED = ('stages', 'expressions', 'accumulators', 'updates', 'filters', 'documentFilters', 'projections', 'schema')
# Not served, not here, only behind another word, or scripts, whose depth is another engine's.
NOT_ACCEPTED = {'$geoNear', '$changeStreamSplitLargeEvent', '$currentOp', '$listLocalSessions', '$text', '$meta', '$where', '$function', '$accumulator',
                '$_internalJsEmit', '$_internalJsReduce', '$toObjectId', '$toUUID', '$tsIncrement', '$tsSecond',
                '$listSearchIndexes', '$search', '$searchMeta', '$vectorSearch'}


class GeneratedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.target = Target(patience=3)
        cls.addClassCleanup(cls.target.__exit__)
        cls.target.start()
        cls.language = Language(cls.target.ask)

    def setUp(self):
        self.target.fill()
        self.seed = harness.seed()
        self.chance = random.Random(self.seed)

    @staticmethod
    def report(finding):
        print(finding, flush=True)

    def expect_none(self, findings):
        self.assertEqual(0, len(findings), 'FRESHET_SEED=%d\n%s' % (self.seed, '\n'.join(map(str, findings))))

    def test_every_word_has_an_argument_that_is_accepted(self):
        """Otherwise give it one in generator.SAMPLES, or say above why not."""
        refused = [str(word) for word in self.language.words
                   if word.kind in MUST_BE_ACCEPTED and not word.accepted and word.name not in NOT_ACCEPTED]
        self.assertEqual([], refused)

    def test_no_input_ends_the_server(self):
        done, findings, worst = crash_run(self.target, self.language, self.chance, SECONDS, self.report, reduce=True)
        print('%d inputs; worst ping between them %.1f ms' % (done, worst * 1000))
        self.expect_none(findings)
        self.assertGreater(done, 100)

    def test_no_input_takes_more_than_n_log_n(self):
        done, findings = growth_run(self.target, self.language, self.chance, SECONDS, self.report)
        print('%d inputs with growing sizes' % done)
        self.expect_none(findings)
        self.assertGreater(done, 10)

    def test_no_stored_document_takes_more_than_n_log_n(self):
        done, findings = data_growth_run(self.target, self.language, self.chance, SECONDS, self.report)
        print('%d inputs over stored documents' % done)
        self.expect_none(findings)

    @unittest.skipUnless(os.environ.get('FRESHET_CASE'), 'FRESHET_CASE names no input')
    def test_replay(self):
        outcome, finding = replay(self.target, self.language, os.environ['FRESHET_CASE'])
        print(outcome)
        self.assertFalse(outcome.is_bad)
        self.assertIsNone(finding, str(finding))


if __name__ == '__main__':
    unittest.main(verbosity=2)

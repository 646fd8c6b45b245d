# SPDX-License-Identifier: Apache-2.0
"""The lists of buildscripts/conformance: what is a failure and what is excused, and that the lists in etc/conformance are
well formed. What the excuses say about the machine and the driver is looked at here."""
import glob
import inspect
import json
import os
import re
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.join(harness.ROOT, 'buildscripts', 'conform'))
import go_suite  # noqa: E402
import ratchet  # noqa: E402
import specifications  # noqa: E402

REASONS = {'later': ratchet.Reason('later', 'later', re.compile('code 115'), 'not served yet')}


class JudgementTest(unittest.TestCase):
    def judge(self, outcomes, passed=(), excused=(), whole=False):
        folder = tempfile.mkdtemp(prefix='freshet-lists-')
        self.addCleanup(lambda: [os.remove(path) for path in glob.glob(folder + '/*')] and os.rmdir(folder))
        ratchet.write_list(os.path.join(folder, 'passed.txt'), dict.fromkeys(passed, ''))
        ratchet.write_list(os.path.join(folder, 'excused.txt'), dict(excused))
        return ratchet.Judgement({test: [*outcome, 0] for test, outcome in outcomes.items()}, folder, whole, REASONS)

    def test_what_passed_once_must_pass_again(self):
        self.assertEqual(1, self.judge({'a': ('failed', 'code 115')}, passed=['a']).counts()[1])
        self.assertEqual(1, self.judge({'a': ('skipped', 'why')}, passed=['a']).counts()[1])
        self.assertEqual(1, self.judge({}, passed=['a'], whole=True).counts()[1])
        self.assertEqual((1, 0, 0, 0), self.judge({'a': ('passed', '')}, passed=['a'], whole=True).counts())

    def test_an_excuse_must_be_shown(self):
        excused = {'a': 'later'}
        self.assertEqual((0, 0, 1, 0), self.judge({'a': ('failed', 'refused with code 115')}, excused=excused).counts())
        self.assertEqual((0, 1, 0, 0), self.judge({'a': ('failed', 'code 2')}, excused=excused).counts())
        self.assertEqual((0, 1, 0, 0), self.judge({'b': ('failed', 'code 115')}, excused=excused).counts())

    def test_what_passes_leaves_the_excuses_unless_it_depends_on_time(self):
        self.assertEqual(1, self.judge({'a': ('passed', '')}, excused={'a': 'later'}).counts()[1])
        unsteady = self.judge({'a': ('passed', '')}, excused={'a': 'later?'})
        self.assertEqual(((1, 0, 0, 0), []), (unsteady.counts(), unsteady.fresh()))

    def test_update(self):
        judged = self.judge({'new': ('passed', ''), 'better': ('passed', ''), 'known': ('failed', 'code 115'), 'odd': ('failed', 'code 2'),
                             'worse': ('failed', 'code 115')}, passed=['worse'], excused={'better': 'later'})
        judged.update()
        self.assertEqual({'new': '', 'better': '', 'worse': ''}, ratchet.read_list(os.path.join(judged.folder, 'passed.txt')))
        self.assertEqual({'known': 'later'}, ratchet.read_list(os.path.join(judged.folder, 'excused.txt')))
        again = ratchet.Judgement(judged.outcomes, judged.folder, True, REASONS)
        self.assertEqual(['odd', 'worse'], sorted(failure.split(':')[0] for failure in again.failures))


class GoOutcomesTest(unittest.TestCase):
    """What becomes of the events that Go's test programs write."""

    def parse(self, *events):
        lines = [json.dumps({'Action': action, 'Test': test, 'Output': output, 'Elapsed': 0.5}) for action, test, output in events]
        return {test: outcome[:2] for test, outcome in go_suite.parse('p', ['not an event'] + lines).items()}

    def test_subtests_count_and_not_what_holds_them(self):
        self.assertEqual({'p/T/a': ['passed', ''], 'p/T/b': ['failed', 'x_test.go:7: bad'], 'p/T/c': ['skipped', 'no need']}, self.parse(
            ('run', 'T', ''), ('pass', 'T/a', ''), ('output', 'T/b', '=== RUN   T/b\n'), ('output', 'T/b', '    x_test.go:7: bad\n'),
            ('fail', 'T/b', ''), ('output', 'T/c', '    x_test.go:9: no need\n'), ('skip', 'T/c', ''), ('fail', 'T', '')))

    def test_what_holds_subtests_counts_where_it_fails_by_itself(self):
        self.assertEqual({'p/T': ['failed', 'leaks'], 'p/T/a': ['passed', '']},
                         self.parse(('pass', 'T/a', ''), ('output', 'T', 'leaks\n'), ('fail', 'T', '')))

    def test_a_process_that_ends_fails_the_test_that_runs_and_not_those_that_wait(self):
        self.assertEqual({'p/T': ['failed', 'panic: oh']}, self.parse(
            ('output', 'W', '=== RUN   W\n'), ('pause', 'W', ''), ('output', 'T', '=== RUN   T\n'), ('output', 'T', 'panic: oh\n')))

    def test_a_pattern_takes_a_test_and_no_other(self):
        pattern = go_suite.pattern(['T/a(b)', 'U'])
        self.assertEqual('^T$/^a\\(b\\)$|^U$', pattern)


class ListsTest(unittest.TestCase):
    def test_every_list_is_well_formed(self):
        reasons, used = ratchet.read_reasons(), set()
        folders = glob.glob(os.path.join(ratchet.LISTS, '*', '*'))
        self.assertTrue(folders)
        for folder in folders:
            passed = ratchet.read_list(os.path.join(folder, 'passed.txt'))
            excused = ratchet.read_list(os.path.join(folder, 'excused.txt'))
            self.assertEqual(set(), set(passed) & set(excused), folder)
            used |= {key.rstrip('?') for key in excused.values()}
        self.assertEqual(used, set(reasons))

    def test_a_set_has_one_member(self):
        """Reasons second-member and three-members."""
        with harness.Server(arguments=['--replSet', 'rs0']) as server, server.client(replicaSet='rs0') as client:
            self.assertEqual(1, len(client.admin.command('hello')['hosts']))

    def test_the_driver_has_no_raw_data(self):
        """Why tests of the argument rawData are not run."""
        collection = harness.import_pymongo().collection.Collection
        for method in ('find', 'aggregate', 'bulk_write', 'insert_one', 'distinct', 'count_documents'):
            self.assertNotIn('raw_data', inspect.signature(getattr(collection, method)).parameters)

    def test_the_suites_have_the_names_of_their_ratchets(self):
        for configuration in ('standalone', 'replica_set', 'login'):
            held = ratchet.read_list(os.path.join(ratchet.LISTS, 'specifications', configuration, 'passed.txt'))
            self.assertLessEqual({test.split('/')[0] for test in held}, set(specifications.SUITES))


if __name__ == '__main__':
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""The lists of etc/conformance: what passed once must pass again, and what may fail says why.

FAMILY/CONFIGURATION/passed.txt has a test a line. FAMILY/CONFIGURATION/excused.txt has `test # key`, the key being
that of a reason. reasons.txt has the reasons, `key | whose | pattern | sentence`: the pattern must be found in the
failure, so that an excused test that fails for another cause is a failure all the same. `whose` is `later` for what
the server does not serve yet, `ours` for a fault of the server, `driver` for what the driver's tests cannot do and
`machine` for what they expect of the machine. With a `?` behind the key in excused.txt the test may also pass: it
depends on time.

Outcomes are {test: [outcome, detail, seconds]}, the outcome being passed, failed or skipped.
"""
import collections
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LISTS = os.path.join(ROOT, 'etc', 'conformance')
HEAD = {
    'passed.txt': '',
    'excused.txt': '# Tests that may fail, `test # key of its reason`; ../../reasons.txt has the reasons. A key with a `?` says that\n'
                   '# the test may also pass. buildscripts/conformance --update writes this file.\n',
}
Reason = collections.namedtuple('Reason', 'key whose pattern sentence')


def read_reasons(path=None):
    reasons = {}
    with open(path or os.path.join(LISTS, 'reasons.txt'), encoding='utf-8') as lines:
        for line in lines:
            if line.strip() and not line.startswith('#'):
                key, whose, pattern, sentence = (part.strip() for part in line.split(' | ', 3))
                if whose not in ('later', 'ours', 'driver', 'machine'):
                    raise ValueError('reason %s is of nobody: %s' % (key, whose))
                reasons[key] = Reason(key, whose, re.compile(pattern), sentence)
    return reasons


def read_list(path):
    """{test: key}; the key is empty in passed.txt."""
    entries = {}
    if os.path.exists(path):
        with open(path, encoding='utf-8') as lines:
            for line in lines:
                test, _, key = line.rstrip('\n').rpartition(' # ') if ' # ' in line else (line, '', '')
                if test.strip() and not line.startswith('#'):
                    entries[test.strip()] = key.strip()
    return entries


def write_list(path, entries):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as lines:
        lines.write(HEAD[os.path.basename(path)])
        lines.writelines('%s # %s\n' % (test, key) if key else test + '\n' for test, key in sorted(entries.items()))


class Judgement:
    """What deviates from the lists of one family in one configuration."""

    def __init__(self, outcomes, folder, whole, reasons=None):
        self.outcomes, self.folder = outcomes, os.path.join(LISTS, folder)
        self.reasons = read_reasons() if reasons is None else reasons
        self.ratchet = read_list(os.path.join(self.folder, 'passed.txt'))
        self.excused = read_list(os.path.join(self.folder, 'excused.txt'))
        self.failures, self.excused_now = [], collections.defaultdict(list)
        self.failing = []  # tests that fail and may not
        self.skips = collections.Counter()
        self.passed = {test for test, outcome in outcomes.items() if outcome[0] == 'passed'}
        self.judge()
        if whole:
            self.failures += ['%s: was passed once, is gone' % test for test in sorted(set(self.ratchet) - set(outcomes))]

    def judge(self):
        for test, (outcome, detail, *_) in sorted(self.outcomes.items()):
            if outcome == 'skipped':
                self.skips[detail] += 1
                if test in self.ratchet:
                    self.failures.append('%s: was passed once, is skipped now: %s' % (test, detail))
            elif outcome == 'failed':
                self.judge_failure(test, detail)
            elif test in self.excused and not self.excused[test].endswith('?'):
                self.failures.append('%s passes: --update takes it out of excused.txt' % test)

    def judge_failure(self, test, detail):
        key = self.excused.get(test, '').rstrip('?')
        reason = self.reasons.get(key)
        if test in self.ratchet:
            failure = '%s: was passed once: %s' % (test, detail)
        elif reason is None:
            failure = '%s: %s' % (test, detail)
        elif not reason.pattern.search('%s: %s' % (test, detail)):
            failure = '%s: is excused by %s, but fails otherwise: %s' % (test, key, detail)
        else:
            self.excused_now[key].append(test)
            return
        self.failures.append(failure)
        self.failing.append(test)

    def update(self):
        """Adds what passes to the ratchet, takes it out of the excuses, and excuses a failure that was not known by the
        first reason that it shows; what shows none, or passed once, stays a failure."""
        known = dict(self.excused)
        for test in self.passed:
            if not known.get(test, '').endswith('?'):
                known.pop(test, None)
        for test, (outcome, detail, *_) in self.outcomes.items():
            if outcome == 'failed' and test not in self.ratchet and not known.get(test, '').endswith('?'):
                shown = [key for key, reason in self.reasons.items() if reason.pattern.search('%s: %s' % (test, detail))]
                if shown:
                    known[test] = shown[0]
        known = {test: key for test, key in known.items() if test in self.outcomes and self.outcomes[test][0] != 'skipped'}
        held = set(self.ratchet) | {test for test in self.passed if test not in known}
        write_list(os.path.join(self.folder, 'passed.txt'), dict.fromkeys(held, ''))
        write_list(os.path.join(self.folder, 'excused.txt'), known)

    def fresh(self):
        """Tests that pass and that the ratchet does not hold yet."""
        return sorted(test for test in self.passed - set(self.ratchet) if not self.excused.get(test, '').endswith('?'))

    def counts(self):
        """(passed, failed, excused, skipped)"""
        return (len(self.passed), len(self.failures), sum(map(len, self.excused_now.values())), sum(self.skips.values()))

    def print(self):
        for failure in self.failures:
            print('FAILED  ' + failure.replace('\n', '\n        '))
        for key, tests in sorted(self.excused_now.items(), key=lambda pair: -len(pair[1])):
            print('EXCUSED %d, %s: %s' % (len(tests), self.reasons[key].whose, self.reasons[key].sentence))
        if self.fresh():
            print('%d tests pass that the ratchet does not hold yet: --update adds them' % len(self.fresh()))


def table(outcomes):
    """[(folder, passed, failed, skipped)] of the first part of the names."""
    rows = collections.defaultdict(collections.Counter)
    for test, outcome in outcomes.items():
        rows[test.split('/')[0]][outcome[0]] += 1
    return [(folder, row['passed'], row['failed'], row['skipped']) for folder, row in sorted(rows.items())]

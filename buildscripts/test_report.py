# SPDX-License-Identifier: Apache-2.0
"""What a run of the tests has found: counts, failures, skips by reason, the slowest checks. What a check printed goes to a
file; the terminal gets that of those that failed."""
import collections
import os
import time

SLOWEST = 10


class Report:
    def __init__(self, log):
        os.makedirs(os.path.dirname(log), exist_ok=True)
        self.path = log
        self.log = open(log, 'w', encoding='utf-8')  # pylint: disable=consider-using-with
        self.passed, self.failures, self.skips, self.seconds, self.parts = 0, [], collections.Counter(), [], {}

    @property
    def failed(self):
        return len(self.failures)

    @property
    def skipped(self):
        return sum(self.skips.values())

    def detail(self, text):
        """Goes to the file only."""
        self.log.write(text.rstrip('\n') + '\n')
        self.log.flush()

    def ok(self, name='', seconds=0.0, count=1):
        self.passed += count
        if name:
            self.took(name, seconds)

    def took(self, name, seconds):
        self.seconds.append((seconds, name))

    def fail(self, name, why='', output=''):
        line = (name + ': ' + why).rstrip(': ')
        self.failures.append(line)
        print('FAILED  %s' % line + ('\n' + output.rstrip() if output else ''), flush=True)
        self.detail('FAILED  %s\n%s' % (line, output))

    def skip(self, name, why, count=1):
        self.skips[why] += count
        self.detail('SKIPPED %s: %s' % (name, why))

    def run_part(self, name, part):
        """One line for a part in which nothing failed."""
        before, began = (self.passed, self.failed, self.skipped), time.monotonic()
        self.detail('\n=== ' + name)
        print('%-12s' % name, end='', flush=True)
        part(self)
        minutes = (time.monotonic() - began) / 60
        self.parts[name] = minutes
        passed, failed, skipped = (now - then for now, then in zip((self.passed, self.failed, self.skipped), before))
        print('%s%6.1f min %6d passed %4d failed %4d skipped' % (' ' * 12 if failed else '', minutes, passed, failed, skipped), flush=True)

    def print_end(self, budget, total, commit):
        """What is over its budget (`total` is that of all parts), what was slow, what was left out and why, what failed; at
        last the one line."""
        for part, minutes in list(self.parts.items()) + [(total, sum(self.parts.values()))]:
            if minutes > budget.get(part, minutes):
                print('OVER    %s took %.1f minutes, its budget is %g' % (part, minutes, budget[part]))
        print('\nslowest checks:')
        for seconds, name in sorted(self.seconds, reverse=True)[:SLOWEST]:
            print('  %6.1f s  %s' % (seconds, name))
        if self.skips:
            print('skipped:')
        for why, count in self.skips.most_common():
            print('  %6d  %s' % (count, why))
        for line in self.failures:
            print('FAILED  %s' % line)
        if self.failures:
            print('at commit %s; all that was printed: %s' % (commit, self.path))
        print('%d passed, %d failed, %d skipped' % (self.passed, self.failed, self.skipped), flush=True)

# SPDX-License-Identifier: Apache-2.0
"""Builds and runs every test of Freshet; called by buildscripts/test, which has installed the packages.

Each part has a budget in .ci/budget. A part is a list of named checks; a check passes, fails or is
skipped with a reason, and a GoogleTest binary counts as many checks as it has tests.
"""
import argparse
import concurrent.futures
import contextlib
import fnmatch
import functools
import glob
import io
import os
import re
import shutil
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree as xml
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, 'buildscripts'))
PYTHON_TESTS = os.path.join(ROOT, 'buildscripts', 'tests')
sys.path.insert(0, PYTHON_TESTS)
sys.dont_write_bytecode = True
import harness  # noqa: E402

LINTS = ('format', 'layers', 'atomics', 'coroutines', 'size', 'docs', 'headers')
# Rooms whose concurrent or byte-facing code also runs under the sanitizers; the soak takes more of them.
SANITIZED = ('sync', 'journal', 'block', 'engine', 'security', 'wire', 'bson', 'transport', 'catalog', 'query', 'script')
THREADED = ('sync', 'journal', 'block', 'engine', 'transport')
# Tests without a second thread, and long: nothing there for ThreadSanitizer.
NOT_THREADED = 'BlockRefusals.*:BlockDamageTest.*:BlockCrash.*:JournalCrashStates.*:StoreCrashStates.*:StoreSlabs.*:StoreRefused.AnyPage*'
FUZZ_RUNS = 200_000
FUZZ_SECONDS = 12  # each, at most; the soak takes longer
RDMA_SECONDS = 1200  # the guest ends long before


class Totals:
    def __init__(self):
        self.passed, self.failed, self.skipped, self.failures, self.skips = 0, 0, 0, [], []

    def fail(self, name, why=''):
        self.failed += 1
        self.failures.append((name + ': ' + why).rstrip(': '))
        print('FAILED  %s %s' % (name, why), flush=True)

    def skip(self, name, why):
        self.skipped += 1
        self.skips.append('%s: %s' % (name, why))
        print('SKIPPED %s: %s' % (name, why), flush=True)

    def ok(self, count=1):
        self.passed += count


def scons(variant, *targets):
    command = ['scons', '-Q', '-j%d' % len(os.sched_getaffinity(0)), 'variant=' + variant]
    command += os.environ.get('FRESHET_SCONS_ARGS', '').split() + list(targets)
    return subprocess.run(command, cwd=ROOT).returncode == 0


def build_release(totals):
    for targets in ([], ['tests', 'test_programs']):
        if not scons('release', *targets):
            totals.fail('build release ' + ' '.join(targets))
            return
    totals.ok()


def run_lints(totals):
    for lint in LINTS:
        script = os.path.join(ROOT, 'buildscripts', 'lint_%s.py' % lint)
        if subprocess.run([sys.executable, '-B', script], cwd=ROOT).returncode == 0:
            totals.ok()
        else:
            totals.fail('lint ' + lint)


def at_once(jobs):
    """Runs the functions, as many at once as there are cores, the first first; their results in order."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(lambda job: job(), jobs))


def summary_of(output):
    """What a sanitizer says last, for who sees no more than the names of what failed; empty: none has."""
    lines = [line for line in output.splitlines() if line.startswith('SUMMARY: ')]
    return ', ' + lines[-1] if lines else ''


def run_gtest(variant, binary, shard, shards):
    """Runs one share of a GoogleTest binary's tests; returns what count_gtest() needs."""
    report = '%s.%d.xml' % (binary, shard)
    if os.path.exists(report):
        os.remove(report)
    command = [binary, '--gtest_output=xml:' + report, '--gtest_brief=1']
    if variant == 'tsan':
        command = ['setarch', '-R'] + command + ['--gtest_filter=-' + NOT_THREADED]
    env = dict(os.environ, TSAN_OPTIONS='halt_on_error=1 second_deadlock_stack=1',
               ASAN_OPTIONS='detect_stack_use_after_return=1', UBSAN_OPTIONS='print_stacktrace=1',
               GTEST_SHARD_INDEX=str(shard), GTEST_TOTAL_SHARDS=str(shards))
    began = time.monotonic()
    try:
        done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors='replace', timeout=600)
        output, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        output, code = (late.stdout or b'').decode(errors='replace'), 'no end after 600 s'
    name = '%s/%s' % (variant, os.path.basename(binary))
    if code != 0:
        code = '%s%s' % (code, summary_of(output))
    return name, report, code, output, time.monotonic() - began, command


def judge_gtest(totals, name, report, code, output, seconds, command):
    failed = count_gtest(totals, name, report, code)
    print('%-7s %-28s %6.1f s' % ('FAILED' if failed else 'ok', name, seconds), flush=True)
    if failed:
        print(output[-20000:])
        print('again: ' + ' '.join(command), flush=True)


def count_gtest(totals, name, report, code):
    """Counts each test of a report; a crash counts as one failure."""
    if not os.path.exists(report):
        totals.fail(name, 'ended with %s before its report' % code)
        return True
    failed = 0
    for case in xml.parse(report).getroot().iter('testcase'):
        test = '%s %s.%s' % (name, case.get('classname'), case.get('name'))
        if case.find('failure') is not None:
            totals.fail(test)
            failed += 1
        elif case.find('skipped') is not None or case.get('result') == 'skipped':
            totals.skip(test, (case.find('skipped').get('message') or '').strip().replace('\n', ' ')[:200]
                        if case.find('skipped') is not None else 'by the test')
        else:
            totals.ok()
    if code != 0 and not failed:
        totals.fail(name, 'ended with %s' % code)
        return True
    return failed > 0


def gtest_part(variant, rooms=None):
    def part(totals):
        targets = ['tests'] if rooms is None else ['test_' + room for room in rooms]
        if variant != 'release' and not scons(variant, *targets):
            totals.fail('build ' + variant)
            return
        folder = os.path.join(ROOT, 'build', variant, 'tests')
        binaries = [os.path.join(folder, name) for name in sorted(os.listdir(folder))
                    if name.endswith('_test') and (rooms is None or name[:-len('_test')] in rooms)]
        # Smaller shares than cores need, so that none waits long for another's last one.
        shards = 2 * len(os.sched_getaffinity(0))
        for result in at_once([functools.partial(run_gtest, variant, binary, shard, shards)
                               for binary in binaries for shard in range(shards)]):
            judge_gtest(totals, *result)
    return part


def fuzz_part(totals):
    """Each fuzzer for so many runs or seconds from a printed seed, on an empty corpus."""
    if not scons('asan', 'fuzzers'):
        totals.fail('build fuzzers')
        return
    folder = os.path.join(ROOT, 'build', 'asan', 'tests')
    seed = int(os.environ.get('FRESHET_SEED') or int.from_bytes(os.urandom(4), 'little')) or 1
    names = [name for name in sorted(os.listdir(folder)) if name.endswith('_fuzz')]
    for result in at_once([functools.partial(run_fuzzer, folder, name, seed) for name in names]):
        judge_fuzzer(totals, seed, *result)


def dictionary_options(name):
    """libFuzzer's option for the words beside the fuzzer's source, if it has some."""
    found = glob.glob(os.path.join(ROOT, 'src', 'freshet', '**', name + '.dict'), recursive=True)
    return ['-dict=' + found[0]] if found else []


def run_fuzzer(folder, name, seed):
    command = [os.path.join(folder, name), '-runs=%d' % FUZZ_RUNS, '-max_total_time=%d' % FUZZ_SECONDS, '-seed=%d' % seed, '-max_len=4096',
               '-print_final_stats=0', '-artifact_prefix=' + folder + '/'] + dictionary_options(name)
    return name, command, subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')


def judge_fuzzer(totals, seed, name, command, done):
    print('%-7s fuzz/%s, FRESHET_SEED=%d' % ('ok' if done.returncode == 0 else 'FAILED', name, seed), flush=True)
    if done.returncode == 0:
        totals.ok()
    else:
        totals.fail('fuzz ' + name, 'again: ' + ' '.join(command))
        print(done.stdout[-8000:])


class CountingResult(unittest.TextTestResult):
    def addSuccess(self, test):
        super().addSuccess(test)
        self.successes = getattr(self, 'successes', 0) + 1


def run_suite(name):
    """Runs the tests of one file; what to print, how many passed, (test, why) of the failed and of the skipped, seconds."""
    began, output = time.monotonic(), io.StringIO()
    with contextlib.redirect_stdout(output):
        suite = unittest.defaultTestLoader.discover(PYTHON_TESTS, name)
        result = unittest.TextTestRunner(stream=output, verbosity=2, resultclass=CountingResult).run(suite)
    failed = [(str(test), trace.strip().splitlines()[-1]) for test, trace in result.failures + result.errors]
    skipped = [(str(test), why) for test, why in result.skipped]
    return name, output.getvalue(), getattr(result, 'successes', 0), failed, skipped, time.monotonic() - began


def python_part(pattern):
    """Each file in a process, as many at once as there are cores: a test and its server take turns on one."""
    def part(totals):
        harness.import_pymongo()
        names = sorted(fnmatch.filter(os.listdir(PYTHON_TESTS), pattern))
        with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for name, output, passed, failed, skipped, seconds in pool.map(run_suite, names):
                print('%s%-7s %-28s %6.1f s' % (output, 'FAILED' if failed else 'ok', name, seconds), flush=True)
                totals.ok(passed)
                for test in failed:
                    totals.fail(*test)
                for test in skipped:
                    totals.skip(*test)
    return part


def conformance_part(totals):
    """The official driver specification tests, where their repositories lie beside the checkout."""
    for persona in ([], ['--replica-set']):
        conformance_as(persona, totals)


def conformance_as(persona, totals):
    done = subprocess.run([sys.executable, '-B', os.path.join(ROOT, 'buildscripts', 'conformance')] + persona, cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
    print(done.stdout, end='', flush=True)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ''
    counts = re.fullmatch(r'(\d+) passed, (\d+) failed, (\d+) skipped', last)
    if counts:
        totals.ok(int(counts[1]))
    if done.returncode != 0:
        totals.fail('conformance', last)
    elif not counts or counts[3] != '0':
        totals.skip('conformance', last if not counts else counts[3] + ' tests, each with its reason above or in etc/conformance')


def rdma_part(totals):
    """RDMA on a device: one guest with Soft-RoCE, where one can be made."""
    try:
        done = subprocess.run([sys.executable, '-B', os.path.join(ROOT, 'buildscripts', 'rdma_lab'), '--quick'], cwd=ROOT,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace', timeout=RDMA_SECONDS)
    except subprocess.TimeoutExpired as late:
        print((late.stdout or b'').decode(errors='replace')[-8000:])
        totals.fail('rdma_lab', 'no end after %d s' % RDMA_SECONDS)
        return
    last = (done.stdout.strip().splitlines() or [''])[-1]
    passed = re.match(r'rdma_lab passed: (\d+) tests', last)
    print(last if done.returncode == 0 else done.stdout[-8000:], flush=True)
    if done.returncode == 0 and passed:
        totals.ok(int(passed[1]))
    elif done.returncode == 0 and last.startswith('rdma_lab SKIPPED: '):
        totals.skip('rdma_lab', last[len('rdma_lab SKIPPED: '):])
    else:
        totals.fail('rdma_lab', last)


def jstests_part(totals):
    """Tests in JavaScript, in our own shell: every suite of etc/suites."""
    done = subprocess.run([sys.executable, '-B', os.path.join(ROOT, 'buildscripts', 'smoke.py')], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
    print(done.stdout, end='', flush=True)
    counts = re.fullmatch(r'(\d+) passed, (\d+) failed, (\d+) skipped', (done.stdout.strip().splitlines() or [''])[-1])
    if not counts:
        totals.fail('jstests', 'ended with %s' % done.returncode)
        return
    totals.ok(int(counts[1]))
    for line in done.stdout.splitlines():
        if line.startswith('FAILED '):
            totals.fail('jstests ' + ' '.join(line.split()[1:3]))
        elif line.startswith('skipped '):
            words = line.split()
            totals.skip('jstests ' + ' '.join(words[1:3]), ' '.join(words[5:])[:200])


PARTS = {
    'build': build_release,
    'lints': lambda totals: (run_lints(totals), python_part('lint_test.py')(totals)),
    'unit': gtest_part('release'),
    'drivers': python_part('driver_*_test.py'),
    'jstests': jstests_part,
    'conformance': conformance_part,
    'rdma': rdma_part,
    'crash': python_part('crash_*test.py'),
    'fuzz': fuzz_part,
    'explore': gtest_part('explore'),
    'address': gtest_part('asan', SANITIZED),
    'thread': gtest_part('tsan', THREADED),
}


def read_budget():
    budget = {}
    with open(os.path.join(ROOT, '.ci', 'budget'), encoding='utf-8') as lines:
        for line in lines:
            words = line.split('#')[0].split()
            if words:
                budget[words[0]] = float(words[1])
    return budget


def print_budget(took):
    budget = read_budget()
    took['total'] = sum(took.values())
    print('\npart          minutes   budget')
    for part, minutes in took.items():
        allowed = budget.get(part)
        over = '   OVER' if allowed is not None and minutes > allowed else ''
        print('%-12s %8.1f %8s%s' % (part, minutes, '-' if allowed is None else '%g' % allowed, over))


def commit():
    """The commit under test; a fresh machine may have no git, and a tarball no history."""
    if not shutil.which('git'):
        return 'unknown'
    done = subprocess.run(['git', 'rev-parse', '--short', 'HEAD'], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or 'unknown'


def seed_of_code():
    """The seed of a run when none is given: that of the code under test. What passed on one machine meets the same
    draws on the next, and each change to the code meets new ones; the soak draws afresh."""
    if not shutil.which('git'):
        return None
    done = subprocess.run(['git', 'rev-parse', 'HEAD:src', 'HEAD:buildscripts'], cwd=ROOT, capture_output=True)
    return str(zlib.crc32(done.stdout) or 1) if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(prog='buildscripts/test', description='Builds and tests Freshet.')
    parser.add_argument('parts', nargs='*', help='only these: ' + ' '.join(PARTS))
    parser.add_argument('--san', choices=('address', 'thread'), help='only this sanitizer')
    parser.add_argument('--explore', action='store_true', help='only the schedule explorer')
    options = parser.parse_args()
    chosen = options.parts or ([options.san] if options.san else []) or (['explore'] if options.explore else list(PARTS))
    unknown = [part for part in chosen if part not in PARTS]
    if unknown:
        parser.error('unknown part ' + ', '.join(unknown))
    seed = os.environ.get('FRESHET_SEED') or seed_of_code()
    if seed:
        os.environ['FRESHET_SEED'] = seed
        print('FRESHET_SEED=%s' % seed, flush=True)
    totals, took = Totals(), {}
    for part in chosen:
        print('\n=== %s' % part, flush=True)
        began = time.monotonic()
        PARTS[part](totals)
        took[part] = (time.monotonic() - began) / 60
        if part == 'build' and totals.failed:
            break
    print_budget(took)
    for line in totals.failures:
        print('FAILED  %s' % line)
    if totals.failures:
        print('at commit %s' % commit())
    for line in totals.skips:
        print('SKIPPED %s' % line)
    print('%d passed, %d failed, %d skipped' % (totals.passed, totals.failed, totals.skipped))
    sys.exit(1 if totals.failed or not totals.passed else 0)


if __name__ == '__main__':
    main()

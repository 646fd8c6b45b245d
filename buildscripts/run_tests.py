# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the tests of Freshet; called by buildscripts/test, which has installed the packages.

Without --full: what a change normally breaks. With it: everything. A part is a list of named checks; a check passes, fails or
is skipped with a reason. Each part has a budget in .ci/budget. build/test.log has all that was printed.
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
import smoke  # noqa: E402
from layers import Layers  # noqa: E402
from test_report import Report  # noqa: E402

LINTS = ('format', 'layers', 'atomics', 'coroutines', 'size', 'docs', 'log_ids', 'headers')
OUTPUT_MAX = 20_000  # of what failed, on the terminal

# The full command has all of it; docs/HACKING.md says what the other leaves out.
FULL_ONLY_ROOMS = ('bench',)
FULL_ONLY_FILES = (
    'driver_ceiling_test.py', 'driver_generated_test.py', 'driver_heavy_test.py', 'driver_memory_messages_test.py',  # hostile requests
    'driver_languages_test.py', 'driver_packages_test.py',  # drivers of other languages, and what is built upon drivers
    'driver_gridfs_test.py',  # freshet-bench's
    'crash_repair_test.py', 'crash_small_disk_test.py', 'crash_space_test.py')
FULL_ONLY_SUITES = ('core_little_memory', 'core_login', 'core_snappy', 'core_unix_socket', 'core_zlib', 'core_zstd', 'rdma_fake')

# Rooms whose concurrent or byte-facing code also runs under the sanitizers; the soak takes more of them.
SANITIZED = ('sync', 'journal', 'block', 'engine', 'security', 'wire', 'bson', 'transport', 'catalog', 'query', 'script')
THREADED = ('sync', 'journal', 'block', 'engine', 'transport')
# Tests without a second thread, and long: nothing there for ThreadSanitizer.
NOT_THREADED = 'BlockRefusals.*:BlockDamageTest.*:BlockCrash.*:JournalCrashStates.*:StoreCrashStates.*:StoreSlabs.*:StoreRefused.AnyPage*'
FUZZ_RUNS = 200_000
FUZZ_SECONDS = 12  # each, at most; the soak takes longer
RDMA_SECONDS = 1200  # the guest ends long before


def scons(report, variant, *targets):
    command = ['scons', '-Q', '-j%d' % len(os.sched_getaffinity(0)), 'variant=' + variant]
    command += os.environ.get('FRESHET_SCONS_ARGS', '').split() + list(targets)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
    report.detail(done.stdout)
    if done.returncode != 0:
        report.fail('build %s %s' % (variant, ' '.join(targets)), output=done.stdout[-OUTPUT_MAX:])
    return done.returncode == 0


def build_release(targets):
    def part(report):
        if scons(report, 'release', *targets):
            report.ok()
    return part


def run_lints(report):
    for lint in LINTS:
        began = time.monotonic()
        done = subprocess.run([sys.executable, '-B', os.path.join(ROOT, 'buildscripts', 'lint_%s.py' % lint)], cwd=ROOT,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
        report.detail(done.stdout)
        if done.returncode == 0:
            report.ok('lint ' + lint, time.monotonic() - began)
        else:
            report.fail('lint ' + lint, output=done.stdout[-OUTPUT_MAX:])


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


def judge_gtest(report, name, place, code, output, seconds, command):
    report.detail('%s %.1f s\n%s' % (name, seconds, output))
    failed = count_gtest(report, name, place, code)
    if failed:
        print(output[-OUTPUT_MAX:])
        print('again: ' + ' '.join(command), flush=True)


def count_gtest(report, name, place, code):
    """Counts each test of an XML report; a crash counts as one failure. Whether there was a failure."""
    if not os.path.exists(place):
        report.fail(name, 'ended with %s before its report' % code)
        return True
    failed = 0
    for case in xml.parse(place).getroot().iter('testcase'):
        test = '%s %s.%s' % (name, case.get('classname'), case.get('name'))
        skip = case.find('skipped')
        if case.find('failure') is not None:
            report.fail(test)
            failed += 1
        elif skip is not None or case.get('result') == 'skipped':
            why = (skip.get('message') or '') if skip is not None else 'by the test'
            report.skip(test, why.strip().split('\n')[-1][:200])
        else:
            report.ok(test, float(case.get('time') or 0))
    if code != 0 and not failed:
        report.fail(name, 'ended with %s' % code)
        return True
    return failed > 0


def tested_rooms():
    """The rooms that have tests."""
    rooms = Layers(os.path.join(ROOT, 'src', 'freshet', 'LAYERS')).rooms.values()
    return [room.name for room in rooms
            if glob.glob(os.path.join(ROOT, 'src', 'freshet', room.path, '**' if room.path != 'testing' else '', '*_test.cpp'), recursive=True)]


def gtest_part(variant, rooms=None, filter_out=''):
    """The tests of the rooms, or of all of them."""
    def part(report):
        targets = ['tests'] if rooms is None else ['test_' + room for room in rooms]
        if variant != 'release' and not scons(report, variant, *targets):
            return
        folder = os.path.join(ROOT, 'build', variant, 'tests')
        binaries = [os.path.join(folder, name) for name in sorted(os.listdir(folder))
                    if name.endswith('_test') and (rooms is None or name[:-len('_test')] in rooms)]
        # Smaller shares than cores need, so that none waits long for another's last one.
        shards = 2 * len(os.sched_getaffinity(0))
        for result in at_once([functools.partial(run_gtest, variant, binary, shard, shards)
                               for binary in binaries for shard in range(shards)]):
            judge_gtest(report, *result)
    return part


def fuzz_part(report):
    """Each fuzzer for so many runs or seconds from a printed seed, on an empty corpus."""
    if not scons(report, 'asan', 'fuzzers'):
        return
    folder = os.path.join(ROOT, 'build', 'asan', 'tests')
    seed = int(os.environ.get('FRESHET_SEED') or int.from_bytes(os.urandom(4), 'little')) or 1
    names = [name for name in sorted(os.listdir(folder)) if name.endswith('_fuzz')]
    for result in at_once([functools.partial(run_fuzzer, folder, name, seed) for name in names]):
        judge_fuzzer(report, seed, *result)


def dictionary_options(name):
    """libFuzzer's option for the words beside the fuzzer's source, if it has some."""
    found = glob.glob(os.path.join(ROOT, 'src', 'freshet', '**', name + '.dict'), recursive=True)
    return ['-dict=' + found[0]] if found else []


def run_fuzzer(folder, name, seed):
    command = [os.path.join(folder, name), '-runs=%d' % FUZZ_RUNS, '-max_total_time=%d' % FUZZ_SECONDS, '-seed=%d' % seed, '-max_len=4096',
               '-print_final_stats=0', '-artifact_prefix=' + folder + '/'] + dictionary_options(name)
    return name, command, subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')


def judge_fuzzer(report, seed, name, command, done):
    report.detail('fuzz/%s, FRESHET_SEED=%d\n%s' % (name, seed, done.stdout))
    if done.returncode == 0:
        report.ok()
    else:
        report.fail('fuzz ' + name, 'FRESHET_SEED=%d, again: %s' % (seed, ' '.join(command)), done.stdout[-OUTPUT_MAX:])


class TimedResult(unittest.TextTestResult):
    """Remembers what passed and how long each test took."""

    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.successes = getattr(self, 'successes', []) + [(str(test), time.monotonic() - self.began)]


def run_suite(name):
    """Runs the tests of one file: what they printed, (test, seconds) of those that passed, (test, why) of the failed and of
    the skipped, seconds in all."""
    began, output = time.monotonic(), io.StringIO()
    with contextlib.redirect_stdout(output):
        suite = unittest.defaultTestLoader.discover(PYTHON_TESTS, name)
        result = unittest.TextTestRunner(stream=output, verbosity=2, resultclass=TimedResult).run(suite)
    failed = [(str(test), trace.strip().splitlines()[-1]) for test, trace in result.failures + result.errors]
    skipped = [(str(test), why) for test, why in result.skipped]
    return name, output.getvalue(), getattr(result, 'successes', []), failed, skipped, time.monotonic() - began


def python_part(pattern, leave_out=()):
    """Each file in a process, as many at once as there are cores: a test and its server take turns on one."""
    def part(report):
        harness.import_pymongo()
        names = [name for name in sorted(fnmatch.filter(os.listdir(PYTHON_TESTS), pattern)) if name not in leave_out]
        with concurrent.futures.ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for name, output, passed, failed, skipped, seconds in pool.map(run_suite, names):
                report.detail('%s%s %.1f s' % (output, name, seconds))
                for test in passed:
                    report.ok(*test)
                for test in failed:
                    report.fail(*test)
                for test in skipped:
                    report.skip(*test)
                if failed:
                    print(output[-OUTPUT_MAX:], flush=True)
    return part


def run_tool(words, seconds=None):
    """A test program's output, its exit code or None after so many seconds, and its last line."""
    try:
        done = subprocess.run([sys.executable, '-B'] + words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors='replace', timeout=seconds)
        output, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        output, code = (late.stdout or b'').decode(errors='replace'), None
    return output, code, (output.strip().splitlines() or [''])[-1]


def conformance_part(report):
    """pymongo's own test suite, and the official driver specification tests where their repository lies beside the checkout."""
    output, code, last = run_tool(['buildscripts/conformance'])
    report.detail(output)
    counts = re.fullmatch(r'(\d+) passed, (\d+) failed, (\d+) skipped', last)
    if counts:
        report.ok(count=int(counts[1]))
        report.skip('conformance', 'by the tests themselves or etc/conformance', int(counts[3]))
    for line in output.splitlines():
        if line.startswith('SKIPPED '):
            report.skip('conformance', line[len('SKIPPED '):])
    if code != 0:
        report.fail('conformance', last, output[-OUTPUT_MAX:])


def rdma_part(report):
    """RDMA on a device: one guest with Soft-RoCE, where one can be made."""
    output, code, last = run_tool(['buildscripts/rdma_lab', '--quick'], RDMA_SECONDS)
    report.detail(output)
    passed = re.match(r'rdma_lab passed: (\d+) tests', last)
    if code == 0 and passed:
        report.ok(count=int(passed[1]))
    elif code == 0 and last.startswith('rdma_lab SKIPPED: '):
        report.skip('rdma_lab', last[len('rdma_lab SKIPPED: '):])
    else:
        report.fail('rdma_lab', last if code is not None else 'no end after %d s' % RDMA_SECONDS, output[-OUTPUT_MAX:])


def jstests_part(leave_out=()):
    """Tests in JavaScript, in our own shell: the suites of etc/suites."""
    def part(report):
        suites = [name for name in smoke.suites() if name not in leave_out]
        output, code, last = run_tool(['buildscripts/smoke.py'] + ['--suite=' + name for name in suites])
        report.detail(output)
        if not re.fullmatch(r'(\d+) passed, (\d+) failed, (\d+) skipped', last):
            report.fail('jstests', 'ended with %s' % code, output[-OUTPUT_MAX:])
            return
        for line in output.splitlines():
            words = line.split()
            if line.startswith('ok '):
                report.ok('jstests ' + ' '.join(words[1:3]), float(words[-2]) if words[-1] == 's' else 0)
            elif line.startswith('FAILED '):
                report.fail('jstests ' + ' '.join(words[1:3]))
            elif line.startswith('skipped '):
                report.skip('jstests ' + ' '.join(words[1:3]), ' '.join(words[5:])[:200])
        if code != 0:
            print(output[-OUTPUT_MAX:], flush=True)
    return part


def usual_parts():
    rooms = [room for room in tested_rooms() if room not in FULL_ONLY_ROOMS]
    programs = ['build/release/%s' % name for name in ('freshetd', 'freshet', 'freshet-rdma-proxy')]
    return {
        'build': build_release(programs + ['test_programs', 'client_library'] + ['test_' + room for room in rooms]),
        'lints': lambda report: (run_lints(report), python_part('lint_test.py')(report)),
        'unit': gtest_part('release', rooms),
        'drivers': python_part('driver_*_test.py', FULL_ONLY_FILES),
        'jstests': jstests_part(FULL_ONLY_SUITES),
        'crash': python_part('crash_*test.py', FULL_ONLY_FILES),
    }


def full_parts():
    return dict(usual_parts(), **{
        'build': build_release(['programs', 'tests', 'test_programs', 'client_library']),
        'unit': gtest_part('release'),
        'drivers': python_part('driver_*_test.py'),
        'jstests': jstests_part(),
        'conformance': conformance_part,
        'rdma': rdma_part,
        'crash': python_part('crash_*test.py'),
        'fuzz': fuzz_part,
        'explore': gtest_part('explore'),
        'address': gtest_part('asan', SANITIZED),
        'thread': gtest_part('tsan', THREADED),
    })


def read_budget():
    budget = {}
    with open(os.path.join(ROOT, '.ci', 'budget'), encoding='utf-8') as lines:
        for line in lines:
            words = line.split('#')[0].split()
            if words:
                budget[words[0]] = float(words[1])
    return budget


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
    full = full_parts()
    parser = argparse.ArgumentParser(prog='buildscripts/test', description='Builds and tests Freshet.')
    parser.add_argument('parts', nargs='*', help='only these: ' + ' '.join(full))
    parser.add_argument('--full', action='store_true', help='everything, which takes three times as long')
    options = parser.parse_args()
    parts = full if options.full else usual_parts()
    if options.full:
        os.environ['FRESHET_FULL'] = '1'  # tests fetch what the usual command leaves out
    unknown = [part for part in options.parts if part not in full]
    if unknown:
        parser.error('unknown part ' + ', '.join(unknown))
    seed = os.environ.get('FRESHET_SEED') or seed_of_code()
    if seed:
        os.environ['FRESHET_SEED'] = seed
        print('FRESHET_SEED=%s' % seed, flush=True)
    report = Report(os.path.join(ROOT, 'build', 'test.log'))
    for name in options.parts or parts:
        report.run_part(name, parts.get(name) or full[name])
        if name == 'build' and report.failed:
            break
    report.print_end(read_budget(), 'full' if options.full else 'usual', commit())
    sys.exit(1 if report.failed or not report.passed else 0)


if __name__ == '__main__':
    main()

# SPDX-License-Identifier: Apache-2.0
"""The part of buildscripts/conformance that runs inside the driver's own test package: makes its unified
tests from folders of JSON, runs them and writes what came of each. Arguments: report, filter, suite=folder..."""
import json
import sys
import unittest

from test import client_context
from test.unified_format import generate_test_classes


def tests_of(suite, folder):
    """{name: test} of a folder; a file that cannot be read as tests is left to the driver's own suite."""
    tests = {}
    classes = generate_test_classes(folder, module=__name__, bypass_test_generation_errors=True)
    for class_name, test_class in classes.items():
        globals()[class_name] = test_class
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(test_class):
            name = test.id().split('.', 1)[-1].replace(' ', '_')
            tests['%s/%s' % (suite, name)] = test
    return tests


def last_line(trace):
    lines = [line for line in trace.strip().splitlines() if line.strip()]
    return lines[-1][:400] if lines else ''


def outcome_of(test):
    result = unittest.TestResult()
    test.run(result) if not isinstance(test, unittest.TestSuite) else test(result)
    if result.failures or result.errors:
        return 'failed', last_line((result.failures + result.errors)[0][1])
    if result.skipped:
        return 'skipped', result.skipped[0][1]
    return 'passed', ''


def main():
    report, only, suites = sys.argv[1], sys.argv[2], sys.argv[3:]
    client_context.init()
    if not client_context.connected:
        sys.exit('no server')
    outcomes = {}
    for suite, folder in (pair.split('=', 1) for pair in suites):
        tests = {name: test for name, test in tests_of(suite, folder).items() if only in name}
        by_class = {}
        for name, test in tests.items():
            by_class.setdefault(type(test), []).append((name, test))
        for test_class, members in by_class.items():
            try:
                test_class.setUpClass()
            except unittest.SkipTest as why:
                outcomes.update({name: ('skipped', str(why)) for name, _ in members})
                continue
            except Exception as why:  # a set-up that fails is each of its tests' failure
                outcomes.update({name: ('failed', 'set-up: %s' % why) for name, _ in members})
                continue
            outcomes.update({name: outcome_of(test) for name, test in members})
            test_class.tearDownClass()
            test_class.doClassCleanups()
    with open(report, 'w', encoding='utf-8') as out:
        json.dump(outcomes, out, indent=0, sort_keys=True)


if __name__ == '__main__':
    main()

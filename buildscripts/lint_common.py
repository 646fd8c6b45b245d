# SPDX-License-Identifier: Apache-2.0
"""What the lints share: finding files, printing problems, the exit code."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCE = 'src/freshet'


def source_files(root, suffixes=('.h', '.cpp')):
    """Paths below root, '/'-separated and sorted, of our C++ files."""
    found = []
    for folder, _, names in os.walk(os.path.join(root, SOURCE)):
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names if name.endswith(suffixes)]
    return sorted(found)


def read_lines(root, path):
    with open(os.path.join(root, path), encoding='utf-8') as lines:
        return lines.read().split('\n')


def room_of(path):
    """Room of a file below src/freshet, and its place inside: ('journal', 'slot/slot_ring.h')."""
    parts = path.split('/')[2:]
    if parts[0] == 'testing':
        return 'testing_' + parts[1], '/'.join(parts[2:])
    return parts[0], '/'.join(parts[1:])


def is_test(path):
    return (path.endswith(('_test.cpp', '_fuzz.cpp', '_test.h', 'test_support.h', '_for_test.h')) or '/testing/' in path)


def finish(name, problems):
    """Prints `file:line: text` problems and ends the process."""
    for problem in problems:
        print(problem)
    print('lint %-8s %s' % (name, 'ok' if not problems else '%d problems' % len(problems)), flush=True)
    sys.exit(1 if problems else 0)

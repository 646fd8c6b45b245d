# SPDX-License-Identifier: Apache-2.0
"""Size limits: files, functions, folders."""
import collections
import os
import re

import lint_common as common

PUBLIC_HEADER, PRIVATE_HEADER, SOURCE, TEST, FUNCTION, FOLDER = 400, 500, 800, 1000, 70, 35
# A line that opens a function's body: at namespace level or inside a class, formatted by clang-format.
OPENS = re.compile(r'^( *)(?!namespace|class|struct|enum|union|extern|if\b|for\b|while\b|switch\b|else|do\b|try|catch|return\b|case\b)\S.*[)a-z&]\s*\{$')
NO_BODY = re.compile(r'=\s*(\[|\{)|\bnamespace\b|^\s*(class|struct|enum|union)\b|\[[^\]]*\]\s*(\(.*\))?\s*(mutable)?\s*(->.*)?\{$')


def limit_of(path):
    _, inside = common.room_of(path)
    if path.endswith('_test.cpp') or path.endswith('_fuzz.cpp'):
        return TEST
    if path.endswith('.h'):
        return PRIVATE_HEADER if '/' in inside else PUBLIC_HEADER
    return SOURCE


def long_functions(lines):
    """(line, length) of each function longer than FUNCTION."""
    found = []
    at = 0
    while at < len(lines):
        opens = OPENS.match(lines[at])
        if opens and not NO_BODY.search(lines[at]):
            closing = opens[1] + '}'
            end = next((i for i in range(at + 1, len(lines)) if lines[i].rstrip(';') == closing), None)
            if end is not None:
                if end - at + 1 > FUNCTION:
                    found.append((at + 1, end - at + 1))
                at = end
        at += 1
    return found


def check(root):
    problems = []
    folders = collections.Counter()
    for path in common.source_files(root):
        lines = common.read_lines(root, path)
        folders[os.path.dirname(path)] += 1
        count = len(lines) - 1
        if count > limit_of(path):
            problems.append('%s:1: %d lines, the limit is %d' % (path, count, limit_of(path)))
        if not common.is_test(path):
            problems += ['%s:%d: a function of %d lines, the limit is %d' % (path, line, length, FUNCTION)
                         for line, length in long_functions(lines)]
    problems += ['%s: %d files, the limit is %d' % (folder, count, FOLDER)
                 for folder, count in sorted(folders.items()) if count > FOLDER]
    return problems


if __name__ == '__main__':
    common.finish('size', check(common.ROOT))

# SPDX-License-Identifier: Apache-2.0
"""No co_await in a branch of `?:`, which g++ 12 miscompiles without a word. An `if` says the same."""
import re

import lint_common as common

# Comments, raw strings, strings, characters (an apostrophe after a digit separates digits).
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
AWAIT = re.compile(r'\bco_await\b')
CLOSING = {')': '(', ']': '[', '}': '{'}


def blank(text):
    """The same text with spaces for whatever is no code."""
    return NO_CODE.sub(lambda found: re.sub(r'[^\n]', ' ', found[0]), text)


def is_in_branch(code, at):
    """Whether a `?` whose branches reach to `at` stands before it in the same statement."""
    depth, is_other_argument = 0, False
    for place in range(at - 1, -1, -1):
        mark = code[place]
        if mark in CLOSING:
            depth += 1
        elif depth > 0:
            depth -= mark in CLOSING.values()
        elif mark in ';{':
            return False
        elif mark in '([':
            is_other_argument = False  # and on with the expression around it
        elif mark == ',':
            is_other_argument = True
        elif mark == '?' and not is_other_argument:
            return True
    return False


def check_file(path, lines):
    code = blank('\n'.join(lines))
    return ['%s:%d: co_await in a branch of ?: (g++ 12 miscompiles it; write an if)' % (path, code.count('\n', 0, found.start()) + 1)
            for found in AWAIT.finditer(code) if is_in_branch(code, found.start())]


def check(root):
    return [problem for path in common.source_files(root) for problem in check_file(path, common.read_lines(root, path))]


if __name__ == '__main__':
    common.finish('coroutines', check(common.ROOT))

# SPDX-License-Identifier: Apache-2.0
"""Atomics are argued: no raw std::atomic or volatile outside sync, every operation names its
order, every compare-and-swap says what losing means and why there is progress, every tag that a comment
names as partner exists in the same room."""
import re

import lint_common as common

RAW = re.compile(r'\bstd::atomic|\bvolatile\b|\bstd::memory_order')
ORDER = re.compile(r'\bk(Relaxed|Acquire|Release|AcqRel|SeqCst)\b|\bmemory_order|\border\b|\bsuccess\b')
OPERATION = re.compile(r'(?:\.|->)(load|store|exchange|compare_exchange_(?:weak|strong)|fetch_(?:add|sub|or|and|xor))\s*\(')
TAG = re.compile(r'\[([a-z][A-Za-z0-9]*\.[A-Za-z0-9.]+)\]')
LOOK_BACK = 30


def arguments(text, start):
    """The text between the parenthesis at `start` and its partner."""
    depth = 0
    for at in range(start, len(text)):
        depth += {'(': 1, ')': -1}.get(text[at], 0)
        if depth == 0:
            return text[start + 1:at]
    return text[start + 1:]


def comment_of(line):
    return line.split('//', 1)[1] if '//' in line else ''


def check_file(path, lines, in_sync):
    problems = []
    code = [line.split('//', 1)[0] for line in lines]
    for number, line in enumerate(code, 1):
        if not in_sync and RAW.search(line):
            problems.append('%s:%d: %s outside sync' % (path, number, RAW.search(line)[0]))
    text = '\n'.join(code)
    for found in OPERATION.finditer(text):
        number = text.count('\n', 0, found.start()) + 1
        inside = arguments(text, found.end() - 1)
        is_accessor = found[1] == 'store' and not inside.strip()  # an atomic's store() takes a value
        if not is_accessor and not ORDER.search(inside):
            problems.append('%s:%d: %s names no memory order' % (path, number, found[1]))
        if found[1].startswith('compare_exchange') and not common.is_test(path):
            near = ' '.join(comment_of(line) for line in lines[max(0, number - LOOK_BACK):number + 2])
            for word in ('LOST', 'PROGRESS'):
                if word not in near:
                    problems.append('%s:%d: compare-and-swap without %s' % (path, number, word))
    return problems


def check_tags(files):
    """Tags named in a room's comments must be defined (first in their comment) somewhere in that room."""
    defined, named = {}, []
    for path, lines in files.items():
        room = common.room_of(path)[0]
        for number, line in enumerate(lines, 1):
            comment = comment_of(line)
            tags = TAG.findall(comment)
            if tags and re.match(r'\W*\[', comment.strip()):
                defined.setdefault(room, set()).add(tags[0])
            named += [(path, number, room, tag) for tag in tags]
    return ['%s:%d: tag [%s] is defined nowhere in %s' % (path, number, tag, room)
            for path, number, room, tag in named if tag not in defined.get(room, ())]


def check(root):
    files = {path: common.read_lines(root, path) for path in common.source_files(root)}
    problems = []
    for path, lines in files.items():
        problems += check_file(path, lines, common.room_of(path)[0] in ('sync', 'testing_sim'))
    return problems + check_tags(files)


if __name__ == '__main__':
    common.finish('atomics', check(common.ROOT))

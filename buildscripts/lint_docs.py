# SPDX-License-Identifier: Apache-2.0
"""Every room has a README with the eight headings that names each of its public headers; every source
starts with its licence line; local links in Markdown lead somewhere; the README opens with the two
commands; the figure of the architecture is what draw_architecture draws; the sources and functions that docs/ARCHITECTURE.md
names exist; the list of decisions has them all; comments and pages are without the turns of plain_words."""
import os
import re

import architecture
import lint_common as common
import plain_words

HEADINGS = ['Purpose', 'Neighbours', 'Front doors', 'Words', 'Invariants', 'Threads', 'Failure', 'Tests']
README_LINES = 120
SOURCE_NAME = re.compile(r'`(\w+/[\w/]+\.(?:cpp|h))`')
SOURCE_ROW = re.compile(r'^\| `([\w/]+\.(?:cpp|h))` \| `(\w+)` \|')
LINK = re.compile(r'\]\(([^)#]+)(?:#[^)]*)?\)')


def rooms(root):
    """Folder of each room -> its public headers."""
    found = {}
    for path in common.source_files(root):
        room, inside = common.room_of(path)
        headers = found.setdefault('%s/%s' % (common.SOURCE, room.replace('testing_', 'testing/')), [])
        if path.endswith('.h') and '/' not in inside:
            headers.append(inside)
    return found


def check_room(root, folder, headers):
    path = folder + '/README.md'
    if not os.path.exists(os.path.join(root, path)):
        return ['%s: missing' % path]
    lines = common.read_lines(root, path)
    problems = []
    if len(lines) > README_LINES:
        problems.append('%s:1: %d lines, the limit is %d' % (path, len(lines), README_LINES))
    have = [line[3:].strip() for line in lines if line.startswith('## ')]
    if have != HEADINGS:
        problems.append('%s:1: headings are %s, want %s' % (path, have, HEADINGS))
    text = '\n'.join(lines)
    return problems + ['%s: does not name %s' % (path, header) for header in headers if header not in text]


def check_links(root):
    return ['%s:%d: %s is not there' % (path, number, target)
            for path in plain_words.markdown_files(root)
            for number, line in enumerate(common.read_lines(root, path), 1)
            for target in LINK.findall(line)
            if '://' not in target and not os.path.exists(os.path.join(root, os.path.dirname(path), target))]


def check_decisions(root):
    folder = 'docs/decisions'
    if not os.path.isdir(os.path.join(root, folder)):
        return []
    listed = '\n'.join(common.read_lines(root, folder + '/README.md'))
    return ['%s/README.md:1: does not list %s' % (folder, name) for name in sorted(os.listdir(os.path.join(root, folder)))
            if name != 'README.md' and name not in listed]


def check_figure(root):
    path = os.path.join(root, architecture.SVG)
    if os.path.exists(path) and '\n'.join(common.read_lines(root, architecture.SVG)) != architecture.svg(root):
        return ['%s:1: is stale: run buildscripts/draw_architecture' % architecture.SVG]
    return []


def check_sources(root):
    """`room/file.cpp` in ARCHITECTURE, and a function in the same row of a table."""
    path = 'docs/ARCHITECTURE.md'
    if not os.path.exists(os.path.join(root, path)):
        return []
    problems, known = [], {folder.split('/')[2] for folder in rooms(root)}
    for number, line in enumerate(common.read_lines(root, path), 1):
        for source in SOURCE_NAME.findall(line):
            if source.split('/')[0] in known and not os.path.exists(os.path.join(root, common.SOURCE, source)):
                problems.append('%s:%d: %s is not there' % (path, number, source))
        row = SOURCE_ROW.match(line)
        if row and os.path.exists(os.path.join(root, common.SOURCE, row[1])):
            if not re.search(r'\b%s\(' % row[2], '\n'.join(common.read_lines(root, '%s/%s' % (common.SOURCE, row[1])))):
                problems.append('%s:%d: %s has no %s()' % (path, number, row[1], row[2]))
    return problems


def check(root):
    problems = []
    for folder, headers in sorted(rooms(root).items()):
        problems += check_room(root, folder, headers)
    for path in common.source_files(root):
        if common.read_lines(root, path)[0] != '// SPDX-License-Identifier: Apache-2.0':
            problems.append('%s:1: no licence line' % path)
    readme = '\n'.join(common.read_lines(root, 'README.md')[:20]) if os.path.exists(os.path.join(root, 'README.md')) else ''
    for command in ('buildscripts/run', 'buildscripts/test'):
        if command not in readme:
            problems.append('README.md:1: does not open with %s' % command)
    return problems + check_links(root) + check_figure(root) + check_sources(root) + check_decisions(root) + plain_words.check(root)


if __name__ == '__main__':
    common.finish('docs', check(common.ROOT))

# SPDX-License-Identifier: Apache-2.0
"""src/freshet/telemetry/log_ids.h has each number once; each of its ids is logged somewhere; the reference of log ids in
docs/admin/monitoring.md has the same numbers."""
import os
import re

import lint_common as common

TABLE = common.SOURCE + '/telemetry/log_ids.h'
PAGE = 'docs/admin/monitoring.md'
HEADING = '## Reference: log ids'
ENTRY = re.compile(r'^    (k\w+) = (\d+), +// \S.*$')
USE = re.compile(r'\bLogId::(k\w+)')


def table(root):
    """(line, name, number) of each id, and what is wrong with the lines."""
    entries, problems, inside = [], [], False
    for number, line in enumerate(common.read_lines(root, TABLE), 1):
        if line.startswith('enum class LogId'):
            inside = True
        elif line.startswith('};'):
            inside = False
        elif inside and line.strip() and not line.lstrip().startswith('//'):
            entry = ENTRY.match(line)
            if entry:
                entries.append((number, entry[1], int(entry[2])))
            else:
                problems.append('%s:%d: not `kName = number,  // what it says`' % (TABLE, number))
    return entries, problems


def listed(root):
    """Number -> line, of the page's list."""
    found, inside = {}, False
    for number, line in enumerate(common.read_lines(root, PAGE), 1):
        if line.startswith('## '):
            inside = line == HEADING
        elif inside and line.startswith('|'):
            for text in re.findall(r'\d+', line.split('|')[1]):
                found[int(text)] = number
    return found


def check(root):
    if not os.path.exists(os.path.join(root, TABLE)):
        return []
    entries, problems = table(root)
    logged = set()
    for path in common.source_files(root):
        if not common.is_test(path) and path != TABLE:
            logged.update(USE.findall('\n'.join(common.read_lines(root, path))))
    page, names = listed(root), {}
    for line, name, number in entries:
        at = '%s:%d: ' % (TABLE, line)
        if number in names:
            problems.append(at + '%s has the number of %s' % (name, names[number]))
        names.setdefault(number, name)
        if name not in logged:
            problems.append(at + 'nothing logs %s' % name)
        if number not in page:
            problems.append(at + '%s does not list %d' % (PAGE, number))
    return problems + ['%s:%d: %d is not in %s' % (PAGE, line, number, TABLE) for number, line in page.items() if number not in names]


if __name__ == '__main__':
    common.finish('log_ids', check(common.ROOT))

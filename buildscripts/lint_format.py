# SPDX-License-Identifier: Apache-2.0
"""Every source is as clang-format-16 would write it. buildscripts/format rewrites."""
import subprocess

import lint_common as common


def check(root):
    paths = common.source_files(root)
    if not paths:
        return []
    done = subprocess.run(['clang-format-16', '--dry-run', '--ferror-limit=1', *paths], cwd=root, capture_output=True, text=True)
    return sorted({line.split(': ')[0] + ': not formatted' for line in done.stderr.splitlines() if 'warning:' in line or 'error:' in line})


if __name__ == '__main__':
    common.finish('format', check(common.ROOT))

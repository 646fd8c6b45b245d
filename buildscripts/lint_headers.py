# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone. One that a source includes before anything else does if that source compiles in the
release build, which has no precompiled header: only the others are compiled here."""
import concurrent.futures
import os
import re
import subprocess

import lint_common as common
from layers import Layers, kind


def flags_of(layers):
    flags = []
    for third in layers.thirds.values():
        flags += ['-D' + define for define in third.defines]
        if third.pkg:
            output = subprocess.check_output(['pkg-config', '--cflags', third.pkg], text=True)
            flags += [flag.replace('-I', '-isystem', 1) if flag.startswith('-I') else flag for flag in output.split()]
    return flags


def compile_alone(root, flags, path):
    command = ['g++', '-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Isrc', '-include', path, '-xc++', os.devnull]
    done = subprocess.run(command[:4] + flags + command[4:], cwd=root, capture_output=True, text=True)
    return [] if done.returncode == 0 else ['%s:1: does not compile alone: %s' % (path, line)
                                            for line in done.stderr.splitlines() if 'error' in line][:3]


def seen_by_release(root):
    """Headers that a source includes first which the release build compiles by itself."""
    sources = [path for path in common.source_files(root, ('.cpp',)) if kind(path) in ('library', 'main')]
    first = [re.search(r'^#\s*\w+ (.*)', '\n'.join(common.read_lines(root, path)), re.M) for path in sources]
    return {'src/' + found[1].strip('"') for found in first if found}


def check(root):
    layers = Layers(os.path.join(root, common.SOURCE, 'LAYERS'))
    flags = flags_of(layers)
    seen = seen_by_release(root)
    headers = [path for path in common.source_files(root, ('.h',)) if path not in seen and not path.endswith('explored_atomic.h')]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return [problem for problems in pool.map(lambda path: compile_alone(root, flags, path), headers) for problem in problems]


if __name__ == '__main__':
    common.finish('headers', check(common.ROOT))

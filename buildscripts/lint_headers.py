# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone."""
import concurrent.futures
import os
import subprocess

import lint_common as common
from layers import Layers


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


def check(root):
    layers = Layers(os.path.join(root, common.SOURCE, 'LAYERS'))
    flags = flags_of(layers)
    headers = [path for path in common.source_files(root, ('.h',)) if not path.endswith('explored_atomic.h')]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return [problem for problems in pool.map(lambda path: compile_alone(root, flags, path), headers) for problem in problems]


if __name__ == '__main__':
    common.finish('headers', check(common.ROOT))

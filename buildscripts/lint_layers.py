# SPDX-License-Identifier: Apache-2.0
"""Holds every #include to src/freshet/LAYERS: a room looks down only, and so do the closets of a room, which are private; third-party
headers appear where they are named and never in a public header, and time, threads and chance enter
through platform."""
import os
import re

import lint_common as common
from layers import Layers, LayersError

INCLUDE = re.compile(r'\s*#\s*include\s+(["<])([^">]+)[">]')
SYSTEM = ('sys/', 'netinet/', 'arpa/', 'linux/', 'net/')
SEAM = re.compile(r'std::chrono::(steady|system|high_resolution)_clock|\bstd::j?thread\b|std::random_device|std::this_thread')


def problems_of_include(layers, room, path, target):
    """Problems of one include of ours."""
    used, inside = common.room_of('src/' + target)
    if used not in layers.rooms:
        return '%s is in no room of LAYERS' % target
    if used == room.name:
        return problem_of_closet(layers, room, path, inside)
    also = any(used in program.also and path == common.SOURCE + '/' + program.main for program in layers.programs.values())
    testing = used.startswith('testing_') and common.is_test(path)
    if used not in room.uses and not testing and not also:
        return 'room %s may not include %s' % (room.name, target)
    if '/' in inside:
        return '%s is private to %s' % (target, used)
    only = room.only.get(used)
    if only and used + '/' + inside not in only and not common.is_test(path):
        return 'room %s may include only %s of %s' % (room.name, ' '.join(only), used)
    return None


def problem_of_closet(layers, room, path, inside):
    """Problem of an include within the room: closets look down only, and public headers into none."""
    _, own = common.room_of(path)
    if '/' not in inside or common.is_test(path) or path.endswith('_main.cpp'):
        return None
    closet = inside.split('/')[0]
    if '/' not in own:
        return '%s is private, and this header is public' % inside if path.endswith('.h') else None
    if not layers.closets[room.name].may_use(own.split('/')[0], closet):
        return 'closet %s/%s may not include %s' % (room.name, own.split('/')[0], inside)
    return None


def problems_of_third(layers, room, path, target):
    for third in layers.thirds.values():
        if any(target.startswith(prefix) for prefix in third.headers):
            if third.name == 'gtest' and common.is_test(path):
                return None
            if third.name not in room.third:
                return 'room %s may not include <%s>' % (room.name, target)
            _, inside = common.room_of(path)
            if path.endswith('.h') and '/' not in inside and not common.is_test(path):
                return '<%s> may not appear in a public header' % target
            return None
    if '/' in target and not target.startswith(SYSTEM):
        return '<%s> belongs to no library named in LAYERS' % target
    return None


def check(root):
    try:
        layers = Layers(os.path.join(root, common.SOURCE, 'LAYERS'))
    except LayersError as error:
        return [str(error)]
    problems = []
    for path in common.source_files(root):
        name, inside = common.room_of(path)
        if name not in layers.rooms:
            problems.append('%s:1: room %s is not in LAYERS' % (path, name))
            continue
        if inside.count('/') > 1:
            problems.append('%s:1: deeper than a closet' % path)
        room = layers.rooms[name]
        for number, line in enumerate(common.read_lines(root, path), 1):
            found = INCLUDE.match(line)
            problem = None
            if found and found[2].startswith('freshet/'):
                problem = problems_of_include(layers, room, path, found[2])
            elif found and found[1] == '"' and '/' not in found[2]:
                problem = 'include "%s" does not start at freshet/' % found[2]
            elif found:
                problem = problems_of_third(layers, room, path, found[2])
            elif name != 'platform' and SEAM.search(line.split('//')[0]):
                problem = 'time, threads and chance come from platform: %s' % SEAM.search(line)[0]
            if problem:
                problems.append('%s:%d: %s' % (path, number, problem))
    return problems


if __name__ == '__main__':
    common.finish('layers', check(common.ROOT))

# SPDX-License-Identifier: Apache-2.0
"""Reads src/freshet/LAYERS, the one truth about rooms, for SConstruct and the lints; and what its name says of a source."""
import dataclasses
import os

SUFFIX_OF = {'explore': '_explore_test', 'test': '_test', 'fuzz': '_fuzz', 'main': '_main'}


def kind(path):
    """What a source is for: one of SUFFIX_OF, or 'library'."""
    base = '_' + os.path.basename(path)[:-len('.cpp')]
    return next((what for what, suffix in SUFFIX_OF.items() if base.endswith(suffix)), 'library')


class LayersError(Exception):
    """LAYERS itself is wrong: the message names the line."""


@dataclasses.dataclass
class Third:
    name: str
    headers: list
    pkg: str
    libs: list
    defines: list
    optional: str  # a header without which it is left out, or ''


@dataclasses.dataclass
class Room:
    name: str
    level: int
    uses: list
    third: list
    only: dict

    @property
    def path(self):
        """Folder below src/freshet: testing_sim lives in testing/sim."""
        return self.name.replace('testing_', 'testing/')


@dataclasses.dataclass
class Closets:
    """What the folders of a room may include of each other, beside its public headers."""
    uses: dict = dataclasses.field(default_factory=dict)
    circle: list = dataclasses.field(default_factory=list)  # these may include each other, for now

    def may_use(self, closet, other):
        return closet == other or other in self.uses.get(closet, []) or {closet, other} <= set(self.circle)


@dataclasses.dataclass
class Program:
    name: str
    main: str
    also: list
    mutant: str = ''
    mutant_source: str = ''
    rebuilt_define: str = ''
    rebuilt_rooms: list = dataclasses.field(default_factory=list)


def _sections(words, keys):
    """Splits words at the key words: {'uses': [...], 'third': [...]}."""
    result = {key: [] for key in keys}
    current = None
    for word in words:
        if word in keys:
            current = word
        elif current is None:
            raise LayersError('unexpected word %r' % word)
        else:
            result[current].append(word)
    return result


class Layers:
    def __init__(self, path):
        self.rooms, self.thirds, self.programs, self.closets, self._groups = {}, {}, {}, {}, {}
        with open(path, encoding='utf-8') as lines:
            for number, line in enumerate(lines, 1):
                words = line.split('#')[0].split()
                if words:
                    try:
                        self._line(words)
                    except (LayersError, KeyError, ValueError, IndexError) as error:
                        raise LayersError('%s:%d: %s' % (path, number, error)) from error

    def _line(self, words):
        what, rest = words[0], words[1:]
        if what == 'group':
            self._groups[rest[0]] = rest[1:]
        elif what == 'third':
            part = _sections(rest[1:], ('headers', 'pkg', 'libs', 'define', 'optional'))
            self.thirds[rest[0]] = Third(rest[0], part['headers'], ''.join(part['pkg']), part['libs'], part['define'],
                                         ''.join(part['optional']))
        elif what == 'room':
            self._room(rest[0], int(rest[1]), _sections(rest[2:], ('uses', 'third', 'only')))
        elif what == 'closet':
            room, name = rest[0].split('/')
            self._closet(self.closets[room], name, _sections(rest[1:], ('uses',))['uses'])
        elif what == 'circle':
            self.closets[rest[0]].circle = rest[1:]
        elif what == 'program':
            part = _sections(rest[2:], ('also', 'mutant', 'rebuilt'))
            mutant, rebuilt = part['mutant'] or ['', ''], part['rebuilt'] or ['']
            self.programs[rest[0]] = Program(rest[0], rest[1], part['also'], *mutant, rebuilt[0], rebuilt[1:])
        else:
            raise LayersError('unknown line kind %r' % what)

    def _room(self, name, level, part):
        uses = [r for word in part['uses'] if word != '-' for r in self._groups.get(word, [word])]
        for used in uses:
            if self.rooms[used].level >= level:
                raise LayersError('%s (level %d) may not use %s (level %d)' % (name, level, used, self.rooms[used].level))
        for third in part['third']:
            if third not in self.thirds:
                raise LayersError('unknown third-party library %r' % third)
        only = {}
        for header in part['only']:
            only.setdefault(header.split('/')[0], []).append(header)
        self.rooms[name] = Room(name, level, uses, part['third'], only)
        self.closets[name] = Closets()

    @staticmethod
    def _closet(closets, name, uses):
        """Closets are named from the lowest up, so that there is no circle but the one that is named as such."""
        for used in uses:
            if name == used or name in closets.uses.get(used, []) or any(name in of for of in closets.uses.values()):
                raise LayersError('closet %s is used above the line that says what it uses' % name)
        closets.uses[name] = uses

    def closure(self, name, also=()):
        """The room and all it uses, users before the used, for the linker."""
        seen = set()
        stack = [name, *also]
        while stack:
            room = stack.pop()
            if room not in seen:
                seen.add(room)
                stack += self.rooms[room].uses
        return sorted(seen, key=lambda r: -self.rooms[r].level)

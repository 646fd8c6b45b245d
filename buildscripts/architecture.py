# SPDX-License-Identifier: Apache-2.0
"""Draws the rooms of src/freshet/LAYERS by level, as docs/architecture.svg. An arrow leads from a room to one that it uses; what
it can reach through another room has no arrow of its own. The same LAYERS always gives the same bytes."""
import os
import xml.sax.saxutils as xml

import layers

SVG = 'docs/architecture.svg'
BOX, HEIGHT, GAP, ROW, MARGIN, LEFT = 118, 40, 22, 74, 18, 62
WORDS = {
    'base': 'status, bytes', 'platform': 'operating system', 'bson': 'documents', 'sync': 'atomics, epochs', 'wire': 'messages',
    'telemetry': 'log', 'testing_sim': 'simulated disks', 'security': 'SCRAM, TLS', 'script': 'JavaScript', 'block': 'block file',
    'journal': 'durability', 'transport': 'connections', 'engine': 'trees, transactions', 'catalog': 'collections, indexes',
    'testing_net': 'simulated RDMA', 'client': 'connects to servers', 'query': 'plans, pipelines', 'command': 'requests to replies'}
SWEEPS = 40


def direct(rooms):
    """Room -> what it uses and does not reach through another room."""
    def reach(name):
        return {name}.union(*(reach(used) for used in rooms[name].uses))
    return {name: sorted(used for used in room.uses if not any(used in reach(other) for other in room.uses if other != used))
            for name, room in rooms.items()}


class Drawing:
    """Nodes are rooms, and (room, room, level) where an arrow passes a level on its way."""

    def __init__(self, rooms):
        self.rooms = rooms
        top = max(room.level for room in rooms.values())
        self.rows = [[] for _ in range(top + 1)]
        for name in sorted(rooms):
            self.rows[rooms[name].level].append(name)
        self.up, self.down, self.arrows = {}, {}, []
        for name, used in sorted(direct(rooms).items()):
            for other in used:
                self.add_arrow(name, other)
        self.order()
        self.place()

    def add_arrow(self, name, other):
        chain = [name] + [(name, other, level) for level in range(self.rooms[name].level - 1, self.rooms[other].level, -1)] + [other]
        for node in chain[1:-1]:
            self.rows[node[2]].append(node)
        for above, below in zip(chain, chain[1:]):
            self.down.setdefault(above, []).append(below)
            self.up.setdefault(below, []).append(above)
        self.arrows.append(chain)

    def crossings(self):
        total = 0
        for row in self.rows[1:]:
            at = {node: i for under in self.rows for i, node in enumerate(under)}
            ends = [(i, at[below]) for i, node in enumerate(row) for below in self.down.get(node, [])]
            total += sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for i, a in enumerate(ends) for b in ends[:i])
        return total

    def order(self):
        """Each row by the mean place of its neighbours, from top to bottom and back; the best order of all is kept."""
        best = (self.crossings(), [list(row) for row in self.rows])
        for sweep in range(SWEEPS):
            neighbours = self.up if sweep % 2 else self.down
            for level in range(len(self.rows)) if sweep % 2 == 0 else reversed(range(len(self.rows))):
                at = {node: i / max(1, len(row) - 1) for row in self.rows for i, node in enumerate(row)}
                self.rows[level].sort(key=lambda node: (mean([at[n] for n in neighbours.get(node, [])], at[node]), str(node)))
            best = min(best, (self.crossings(), [list(row) for row in self.rows]), key=lambda entry: entry[0])
        self.rows = best[1]

    @staticmethod
    def width(node):
        return BOX if isinstance(node, str) else 14

    def place(self):
        """x of each node's middle: near its neighbours, as far as the others of its row leave room."""
        self.x = {}
        for row in self.rows:
            for i, node in enumerate(row):
                self.x[node] = i * (BOX + GAP)
        for _ in range(SWEEPS):
            for row in self.rows + self.rows[::-1]:
                self.settle(row)
        least = min(self.x[node] - self.width(node) / 2 for node in self.x)
        self.x = {node: round(x - least + LEFT) for node, x in self.x.items()}

    def settle(self, row):
        """Moves a row's nodes to where they would like to be; those that would overlap go together, by the mean of their wishes."""
        groups = []  # [nodes, offsets from the first one, wished x of the first one]
        for node in row:
            near = [self.x[n] for n in self.up.get(node, []) + self.down.get(node, [])]
            group = [[node], [0.0], mean(near, self.x[node])]
            while groups and groups[-1][2] + groups[-1][1][-1] + self.space(groups[-1][0][-1], group[0][0]) > group[2]:
                left = groups.pop()
                shift = left[1][-1] + self.space(left[0][-1], group[0][0])
                wished = (left[2] * len(left[0]) + (group[2] - shift) * len(group[0])) / (len(left[0]) + len(group[0]))
                group = [left[0] + group[0], left[1] + [shift + offset for offset in group[1]], wished]
            groups.append(group)
        for nodes, offsets, x in groups:
            for node, offset in zip(nodes, offsets):
                self.x[node] = x + offset

    def space(self, left, right):
        return (self.width(left) + self.width(right)) / 2 + GAP

    def y(self, level):
        return MARGIN + (len(self.rows) - 1 - level) * ROW + HEIGHT / 2

    def level(self, node):
        return node[2] if isinstance(node, tuple) else self.rooms[node].level


def mean(values, otherwise):
    return sum(values) / len(values) if values else otherwise


def path(drawing, chain):
    """From under the first box to above the last one, straight down while it passes another level's boxes."""
    x, y = drawing.x[chain[0]], drawing.y(drawing.level(chain[0])) + HEIGHT / 2
    text = 'M%d %d' % (x, y)
    for node in chain[1:]:
        last = node is chain[-1]
        to_x, to_y = drawing.x[node], drawing.y(drawing.level(node)) - HEIGHT / 2 - (5 if last else 0)
        middle = (y + to_y) / 2
        text += ' C%d %d %d %d %d %d' % (x, middle, to_x, middle, to_x, to_y)
        x, y = to_x, to_y
        if not last:
            y += HEIGHT
            text += ' V%d' % y
    return text


def box(drawing, name, program):
    x, y = drawing.x[name] - BOX / 2, drawing.y(drawing.rooms[name].level) - HEIGHT / 2
    kind = 'tests' if name.startswith('testing') else 'program' if program else 'room'
    words = program or WORDS.get(name, '')
    shown = drawing.rooms[name].path
    lines = ['<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="5"/>' % (kind, x, y, BOX, HEIGHT),
             '<text class="name" x="%d" y="%d">%s</text>' % (x + BOX / 2, y + (17 if words else 25), xml.escape(shown))]
    if words:
        lines.append('<text class="words" x="%d" y="%d">%s</text>' % (x + BOX / 2, y + 32, xml.escape(words)))
    return lines


STYLE = '''<style>
text { font-family: sans-serif; text-anchor: middle; fill: #1b1f24 }
.name { font-size: 13px; font-weight: bold } .words { font-size: 10.5px } .level { font-size: 11px; text-anchor: start; fill: #57606a }
.room { fill: #eaf2fb; stroke: #4a7ab0 } .program { fill: #fdf0d5; stroke: #b07a1f } .tests { fill: #f3f3f3; stroke: #999; stroke-dasharray: 4 3 }
.arrow { fill: none; stroke: #6e7781; stroke-width: 1.2; marker-end: url(#head) } .line { stroke: #e3e6ea }
</style>'''


def svg(root):
    read = layers.Layers(os.path.join(root, 'src', 'freshet', 'LAYERS'))
    programs = {}
    for program in read.programs.values():
        if not program.also and not program.rebuilt_define and not program.mutant:
            programs.setdefault(program.main.split('/')[0], program.name)
    drawing = Drawing(read.rooms)
    width = max(drawing.x[node] + drawing.width(node) // 2 for node in drawing.x) + MARGIN
    height = 2 * MARGIN + (len(drawing.rows) - 1) * ROW + HEIGHT
    lines = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">' % (width, height, width, height),
             '<!-- Drawn by buildscripts/draw_architecture from src/freshet/LAYERS. -->', STYLE,
             '<defs><marker id="head" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
             '<path d="M0 0 L8 4 L0 8 z" fill="#6e7781"/></marker></defs>',
             '<rect width="%d" height="%d" fill="#ffffff"/>' % (width, height)]
    for level in range(len(drawing.rows)):
        y = drawing.y(level)
        lines += ['<line class="line" x1="%d" y1="%d" x2="%d" y2="%d"/>' % (LEFT - 8, y, width - MARGIN, y),
                  '<text class="level" x="10" y="%d">level %d</text>' % (y + 4, level)]
    lines += ['<path class="arrow" d="%s"/>' % path(drawing, chain) for chain in drawing.arrows]
    for name in sorted(read.rooms):
        lines += box(drawing, name, programs.get(name))
    return '\n'.join(lines + ['</svg>']) + '\n'

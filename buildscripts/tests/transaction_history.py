# SPDX-License-Identifier: Apache-2.0
"""Judges what concurrent transactions saw: finds whatever snapshot isolation forbids.

The workload is list-append (as in Elle, Kingsbury and Alvaro 2020). A key's value is a list, and each write appends
an element that no other write appends, so a list shows which transactions wrote, and in which order. From the lists
follow the dependencies: ww (overwrote), wr (read its write), rw (did not see its write), and with the clock rt (began
after its end). Under snapshot isolation each cycle of dependencies has two rw in a row (Cerone and Gotsman 2016).

The C++ tests have a checker of their own. This one shares no code with it, so a fault of one is not a fault of both."""
import collections
import math

INTERNAL = 'internal inconsistency'  # a transaction does not see its own writes, or sees a key in two states
GARBAGE = 'garbage'  # an element that was never appended, or one that appears twice
ABORTED_READ = 'G1a, aborted read'
INTERMEDIATE = 'G1b, intermediate read'
PARTIAL = 'partial commit'  # some of a transaction's writes are there at the end, others are not
LOST = 'lost write'  # a committed append is missing at the end
UNSTABLE = 'unstable read'  # a committed transaction has seen an element that is gone after the crash
ORDER = 'no order'  # two lists of one key, neither of which continues the other
LOST_UPDATE = 'lost update'  # a transaction read a list, appended, and another's append came in between
DIRTY_WRITE = 'G0, dirty write'
CIRCULAR = 'G1c, circular information flow'
READ_SKEW = 'G-single, read skew'
LONG_FORK = 'long fork'
STALE = 'stale read'  # forbidden only because one transaction had ended before the other began

SHOWN_MAX = 5  # anomalies of a kind


class Transaction:
    """`operations`: ('append', key, element) or ('read', key, [elements]), in their order. `outcome`: 'ok' (the commit was
    acknowledged), 'fail' (it was not committed) or 'info' (unknown). `begin` was read before the first statement was
    sent, `end` after the last answer was received."""

    def __init__(self, name, operations, outcome='ok', begin=0.0, end=math.inf):
        self.name, self.operations, self.outcome, self.begin, self.end = name, list(operations), outcome, begin, end

    def appends(self):
        return [(key, element) for kind, key, element in self.operations if kind == 'append']

    def __str__(self):
        def shown(operation):
            kind, key, value = operation
            if kind == 'append':
                return 'append %s %s' % (key, value)
            return 'read %s [%s]' % (key, ' '.join(map(str, value if len(value) <= 40 else ['...'] + value[-40:])))
        return '%s (%s, %.6f to %.6f): %s' % (self.name, self.outcome, self.begin, self.end, '; '.join(map(shown, self.operations)))


class Checker:
    """`final`: what the keys hold at the end, {key: list}."""

    def __init__(self, transactions, final):
        self.transactions, self.final = transactions, final
        self.anomalies = collections.defaultdict(list)  # texts, by kind
        self.writers = {pair: one for one in transactions for pair in one.appends()}
        self.external = {}  # (transaction, key) -> what it read of others, at its first read

    def found(self, kind, text, *transactions):
        if len(self.anomalies[kind]) < SHOWN_MAX:
            self.anomalies[kind].append(text + ''.join('\n    %s' % one for one in transactions))

    def check(self):
        for key, elements in self.final.items():
            self._check_elements(key, elements, None)
        self._settle()
        for one in self.transactions:
            self._check_internal(one)
        self.positions = {key: {element: at for at, element in enumerate(elements)} for key, elements in self.final.items()}
        for (one, key), seen in self.external.items():
            self._check_read(one, key, seen)
        self._check_appends()
        if not self.anomalies:  # the order of versions is sure
            self._check_cycles()
        return self

    def _settle(self):
        """Decides which transactions were committed. What is there at the end decides unknown outcomes."""
        there = {(key, element) for key, elements in self.final.items() for element in elements}
        self.is_committed = {}
        for one in self.transactions:
            appends = one.appends()
            present = [pair for pair in appends if pair in there]
            self.is_committed[one] = one.outcome == 'ok' or bool(one.outcome == 'info' and present)
            if one.outcome == 'fail' and present:
                self.found(ABORTED_READ, '%s is there at the end' % (present,), one)
            elif one.outcome == 'info' and present and len(present) < len(appends):
                self.found(PARTIAL, 'only %s is there at the end' % (present,), one)
            elif one.outcome == 'ok' and len(present) < len(appends):
                self.found(LOST, '%s is not there at the end' % sorted(set(appends) - there), one)

    def _check_elements(self, key, elements, reader):
        who = (reader,) if reader else ()
        if len(set(elements)) < len(elements):
            self.found(GARBAGE, '%s has an element twice: %s' % (key, elements), *who)
        for element in elements:
            if (key, element) not in self.writers:
                self.found(GARBAGE, '%s has %s, which was never appended' % (key, element), *who)

    def _check_internal(self, one):
        known, appended = {}, collections.defaultdict(list)  # known: what it has read of other transactions
        for kind, key, value in one.operations:
            if kind == 'append':
                appended[key].append(value)
                continue
            own = appended[key]
            cut = len(value) - len(own)
            if cut < 0 or value[cut:] != own or known.get(key, value[:cut]) != value[:cut]:
                self.found(INTERNAL, '%s: read %s after %s and its own %s' % (key, value, known.get(key), own), one)
                return
            known[key] = value[:cut]
        for key, seen in known.items():
            self._check_elements(key, seen, one)
            self.external[one, key] = seen

    def _check_read(self, one, key, seen):
        """Nothing of an aborted transaction may be seen. A lost transaction (unknown outcome, gone at the end) may be seen only by
        transactions that were not acknowledged either, and only behind all elements that are not lost."""
        lost_from = len(seen)
        for at, element in enumerate(seen):
            writer = self.writers.get((key, element))
            if writer is None:
                return
            if writer.outcome == 'fail':
                self.found(ABORTED_READ, '%s: %s was seen' % (key, element), one, writer)
                return
            if not self.is_committed[writer]:
                lost_from = min(lost_from, at)
                if one.outcome == 'ok':
                    self.found(UNSTABLE, '%s: %s was seen, and is gone' % (key, element), one, writer)
                    return
        if self.final.get(key, [])[:lost_from] != seen[:lost_from] or any(
                self.is_committed[self.writers[key, element]] for element in seen[lost_from:]):
            self.found(ORDER, '%s: %s was seen, at the end it is %s' % (key, seen, self.final.get(key)), one)
            return
        self._check_whole(one, key, seen)
        own = [element for where, element in one.appends() if where == key]
        if self.is_committed[one] and own and self.positions.get(key, {}).get(own[0], len(seen)) != len(seen):
            self.found(LOST_UPDATE, '%s: %s was appended to %s, at the end it is %s' % (key, own, seen, self.final[key]), one)

    def _check_whole(self, one, key, seen):
        if seen:
            writer = self.writers[key, seen[-1]]
            last = [element for where, element in writer.appends() if where == key][-1]
            if last != seen[-1]:
                self.found(INTERMEDIATE, '%s: %s was seen without %s' % (key, seen[-1], last), one, writer)

    def _check_appends(self):
        """A transaction's appends to a key follow each other. Otherwise another transaction has overwritten uncommitted data."""
        for one in self.transactions:
            by_key = collections.defaultdict(list)
            for key, element in one.appends():
                by_key[key].append(element)
            for key, own in by_key.items():
                at = self.positions.get(key, {}).get(own[0])
                if self.is_committed[one] and at is not None and self.final[key][at:at + len(own)] != own:
                    self.found(DIRTY_WRITE, '%s: %s do not stand in a row: %s' % (key, own, self.final[key]), one)

    def _dependencies(self):
        """{transaction: [(kind, transaction)]}."""
        edges = collections.defaultdict(list)
        for key, elements in self.final.items():
            for before, after in zip(elements, elements[1:]):
                if self.writers[key, before] is not self.writers[key, after]:
                    edges[self.writers[key, before]].append(('ww', self.writers[key, after]))
        for (one, key), seen in self.external.items():
            if seen:
                edges[self.writers[key, seen[-1]]].append(('wr', one))
            elements = self.final.get(key, [])
            for element in elements[len(seen):len(seen) + 1]:  # none, if it saw all
                if self.writers[key, element] is not one:
                    edges[one].append(('rw', self.writers[key, element]))
        return edges

    def _add_times(self, edges):
        """Adds a chain of instants. A transaction that has ended leads to all that began later."""
        ends = sorted((one for one in self.transactions if one.end < math.inf), key=lambda one: one.end)
        for at, one in enumerate(ends):
            edges[one].append(('rt', at))
            edges[at].append(('rt', at + 1))
        at = -1
        for one in sorted(self.transactions, key=lambda one: one.begin):
            while at + 1 < len(ends) and ends[at + 1].end < one.begin:
                at += 1
            if at >= 0:
                edges[at].append(('rt', one))

    def _check_cycles(self):
        edges = self._dependencies()
        if self._report_cycle(edges, {'ww'}, DIRTY_WRITE) or self._report_cycle(edges, {'ww', 'wr'}, CIRCULAR):
            return
        if self._report_cycle(edges, {'ww', 'wr', 'rw'}, None):
            return
        self._add_times(edges)
        self._report_cycle(edges, {'ww', 'wr', 'rw', 'rt'}, STALE)

    def _report_cycle(self, edges, kinds, name):
        cycle = find_cycle(edges, kinds)
        if cycle:
            anti = sum(1 for kind, _ in cycle if kind == 'rw')
            name = name or (READ_SKEW if anti == 1 else LONG_FORK)
            steps = ' -> '.join('%s %s' % (kind, one.name) for kind, one in cycle if isinstance(one, Transaction))
            self.found(name, steps, *(one for _, one in cycle if isinstance(one, Transaction)))
        return bool(cycle)

    def text(self):
        return '\n'.join('%s: %s' % (kind, text) for kind, texts in sorted(self.anomalies.items()) for text in texts)


def steps_from(edges, kinds, node):
    """Yields the edges of a node: (transaction or instant, whether the edge that led to it was rw). No rw follows another rw."""
    place, was_anti = node
    for kind, other in edges.get(place, ()):
        if kind in kinds and not (was_anti and kind == 'rw'):
            yield kind, (other, kind == 'rw')


def find_cycle(edges, kinds):
    """Returns a short cycle as [(kind, where the edge leads)]; None if there is no cycle."""
    component = find_component(edges, kinds)
    if component is None:
        return None
    best = None
    for start in component if len(component) < 200 else list(component)[:200]:
        reached, waiting = {start: None}, collections.deque([start])
        closing = None
        while waiting and closing is None:
            node = waiting.popleft()
            for kind, other in steps_from(edges, kinds, node):
                if other == start:
                    closing = (kind, node)
                    break
                if other in component and other not in reached:
                    reached[other] = (kind, node)
                    waiting.append(other)
        path, (kind, node) = [(closing[0], start[0])], closing
        while reached[node] is not None:
            kind, before = reached[node]
            path.append((kind, node[0]))
            node = before
        if best is None or len(path) < len(best):
            best = path[::-1]
    return best


def find_component(edges, kinds):
    """Returns a strongly connected component of several nodes, or None (Tarjan 1972, without recursion). No node leads to itself."""
    index, low, stack, on_stack = {}, {}, [], set()
    for root in [(place, anti) for place in list(edges) for anti in (False, True)]:
        if root in index:
            continue
        work = [(root, steps_from(edges, kinds, root))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, steps = work[-1]
            for _, other in steps:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, steps_from(edges, kinds, other)))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = set(stack[stack.index(node):])
                    del stack[stack.index(node):]
                    on_stack -= component
                    if len(component) > 1:
                        return component
    return None


def check(transactions, final):
    return Checker(transactions, final).check()

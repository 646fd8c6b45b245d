# SPDX-License-Identifier: Apache-2.0
"""What the generator does to a seed: at each place of it, something deep, long or wide of a size n. See generator.py."""
import functools
import itertools

from raw_bson import Date, Document, Raw, doc, document_bytes, encode, members_of, name_bytes, nest, self_nest, wrap


def places(value, path=()):
    """Every place in a value, from the outside in, as indices of members."""
    yield path
    if isinstance(value, list):
        for i, (_, inner) in enumerate(members_of(value)):
            yield from places(inner, path + (i,))


def at(value, path):
    for i in path:
        value = members_of(value)[i][1]
    return value


def replaced(value, path, new, name=None):
    """A copy with `new` at `path`, its name changed if one is given."""
    if not path:
        return new
    i = path[0]
    if isinstance(value, Document):
        own, inner = value[i]
        rename = name is not None and len(path) == 1
        return Document(value[:i] + [(name if rename else own, replaced(inner, path[1:], new, name))] + value[i + 1:])
    return list(value[:i]) + [replaced(value[i], path[1:], new, name)] + list(value[i + 1:])


def spelled(value, path):
    names = []
    for i in path:
        name, value = members_of(value)[i]
        names.append(name if isinstance(name, str) else repr(name))
    return '/'.join(names)


def numbered(value, i):
    """The like of `value`, but another: numbers and plain strings in it differ by `i`."""
    if isinstance(value, Document):
        return Document((name, numbered(inner, i)) for name, inner in value)
    if isinstance(value, list):
        return [numbered(inner, i) for inner in value]
    if isinstance(value, bool) or value is None or isinstance(value, (Date, Raw)):
        return value
    if isinstance(value, (int, float)):
        return type(value)(value + i)
    return value + str(i) if isinstance(value, str) and not value.startswith('$') else value


def ints(n):
    return Raw(4, document_bytes((str(i), i) for i in range(n)))


def path_of(n, part='a'):
    return '.'.join([part] * n)


SCALARS = {
    # Sizes: `deep` counts levels or parts, `long` and `wide` elements or bytes.
    'deep documents': ('deep', lambda n: nest(n)),
    'deep arrays': ('deep', lambda n: nest(n, ('0',), 4)),
    'deep arrays and documents': ('deep', lambda n: Raw(3, wrapped(nest(n, ('a', '0')).data))),
    'deep paths': ('deep', lambda n: nest(min(n, 80), (path_of(max(n // 80, 1)),))),
    'path': ('deep', lambda n: path_of(n)),
    'field path': ('deep', lambda n: '$' + path_of(n)),
    'variable path': ('deep', lambda n: '$$ROOT.' + path_of(n)),
    'numeric path': ('deep', lambda n: '$o.' + path_of(n, '0')),
    'parentheses': ('deep', lambda n: '(' * n + ')' * n),
    'long string': ('long', lambda n: 's' * n),
    'long bytes': ('long', lambda n: b'x' * n),
    'long name path': ('long', lambda n: '$' + 'a' * n),
    'array of numbers': ('long', lambda n: ints(n)),
    'array of strings': ('long', lambda n: ['s%d' % i for i in range(n)]),
    'array of fields': ('long', lambda n: ['$n'] * n),
    'array of paths': ('long', lambda n: ['$f%d.n' % i for i in range(n)]),
    'array of documents': ('long', lambda n: [doc(n=i) for i in range(n)]),
    'array of arrays': ('long', lambda n: [[i] for i in range(n)]),
    'wide document': ('wide', lambda n: Document(('f%d' % i, 1) for i in range(n))),
    'wide document of fields': ('wide', lambda n: Document(('f%d' % i, '$n') for i in range(n))),
    'wide document of paths': ('wide', lambda n: Document(('a.f%d' % i, 1) for i in range(n))),
    'wide document of one name': ('wide', lambda n: Document([('a', 1)] * n)),
    'wide document of operators': ('wide', lambda n: Document(('$f%d' % i, 1) for i in range(n))),
}


def wrapped(data):
    return document_bytes([('a', Raw(3, data))])


@functools.lru_cache(maxsize=256)
def scalar(name, n):
    """One of SCALARS, encoded; most cases ask for the same."""
    return Raw(*encode(SCALARS[name][1](n)))


def repeated(value, n):
    """The members of an array or document, n of them by turns, alike."""
    kind, encoded = encode(value)[0], [encode(inner) for _, inner in members_of(value)]
    names = [name_bytes(name) for name, _ in value] if isinstance(value, Document) else numbers(n)
    turns = zip(itertools.cycle(names) if isinstance(value, Document) else names, itertools.cycle(encoded), range(n))
    return Raw(kind, wrap(b''.join([bytes((inner[0],)) + name + inner[1] for name, inner, _ in turns])))


@functools.lru_cache(maxsize=32)
def numbers(n):
    """The names of an array's members."""
    return [name_bytes(str(i)) for i in range(n)]


def multiplied(value, n):
    """As repeated(), but each differs in its numbers, strings and, where it is no operator, its name."""
    if isinstance(value, Document):
        members = [value[i % len(value)] for i in range(n)]
        return Document((name if name.startswith('$') else '%s%d' % (name, i), inner) for i, (name, inner) in enumerate(members))
    return [numbered(value[i % len(value)], i) for i in range(n)]


# More levels of an operator than any message may nest.
ITSELF_MAX = 1_000

# Attacks on an array or document that is there.
MEMBERS = {'members again': ('long', repeated), 'members like it': ('long', multiplied)}

# Attacks on a member's name: what it becomes; None: several members come of it.
NAMES = {
    'name of a path': ('deep', lambda name, n: name + '.' + path_of(n)),
    'name of numbers': ('deep', lambda name, n: 'l.' + path_of(n, '0')),
    'name of positions': ('deep', lambda name, n: 'l.' + path_of(n, '$[]')),
    'long name': ('long', lambda name, n: 'a' * n),
    'long operator': ('long', lambda name, n: '$' + 'a' * n),
}
BROODS = {
    'names below': ('wide', lambda name, i: '%s.f%d' % (name, i)),
    'names above': ('wide', lambda name, i: 'f%d.%s' % (i, name)),
    'numbers below': ('wide', lambda name, i: '%s.%d' % (name, i)),
}


class Attack:
    """An attack on one place of a value; make(n) gives the value with it."""

    def __init__(self, kind, name, make):
        self.kind, self.name, self.make = kind, name, make


def attacks_on(value):
    """All attacks on all places of `value`."""
    for path in places(value):
        inner, spot = at(value, path), spelled(value, path)
        for name, (kind, _) in SCALARS.items():
            yield Attack(kind, '%s@%s' % (name, spot), lambda n, p=path, a=name: replaced(value, p, scalar(a, n)))
        if isinstance(inner, list) and inner:
            for name, (kind, make) in MEMBERS.items():
                yield Attack(kind, '%s@%s' % (name, spot), lambda n, p=path, m=make, v=inner: replaced(value, p, m(v, n)))
        for i in range(len(path)):
            outer = at(value, path[:i])
            yield Attack('deep', 'itself %d up@%s' % (len(path) - i, spot),
                         lambda n, p=path, i=i, o=outer: replaced(value, p[:i], self_nest(o, p[i:], min(n, ITSELF_MAX))))
        if path and isinstance(at(value, path[:-1]), Document):
            yield from attacks_on_name(value, path, spot)


def attacks_on_name(value, path, spot):
    holder = at(value, path[:-1])
    name, inner = holder[path[-1]]
    for attack, (kind, make) in NAMES.items():
        yield Attack(kind, '%s@%s' % (attack, spot), lambda n, m=make: replaced(value, path, inner, m(name, n)))
    others = holder[:path[-1]] + holder[path[-1] + 1:]
    for attack, (kind, make) in BROODS.items():
        if not name.startswith('$'):
            yield Attack(kind, '%s@%s' % (attack, spot), lambda n, m=make: replaced(
                value, path[:-1], Document(others) + [(m(name, i), inner) for i in range(n)]))


class Case:
    """One input: a word in a host, attacked with size n, sent to a collection."""

    def __init__(self, word, host, attack, n, collection):
        self.word, self.host, self.attack, self.n, self.collection = word, host, attack, n, collection

    def __str__(self):
        return '%s|%d|%s|%d|%s' % (self.word, self.host, self.attack.name, self.n, self.collection)

    def of_size(self, n):
        return Case(self.word, self.host, self.attack, n, self.collection)

    def on(self, collection):
        return Case(self.word, self.host, self.attack, self.n, collection)

    def message(self, language):
        return language.message_of(self.word, self.attack.make(self.n), self.host, self.collection)


def cases_of(word, n=1, collection='few'):
    """All attacks in the word's first host, where its own argument is attacked."""
    for attack in attacks_on(word.seed()):
        yield Case(word, 0, attack, n, collection)

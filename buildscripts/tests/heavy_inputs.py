# SPDX-License-Identifier: Apache-2.0
"""Inputs that were found to take a server's time: what each is for a size n, and the size that it was found with."""
from generator import DB
from raw_bson import Document, doc, message


def fields(n, value=1):
    return Document(('f%d' % i, value) for i in range(n))


def command(*pairs):
    """The command's message, with what a test adds to it (maxTimeMS, comment)."""
    return lambda more: message(*pairs, *more, ('$db', DB))


def aggregate(stage):
    return command(('aggregate', 'heavy'), ('pipeline', [stage]), ('cursor', doc()))


def find(**more):
    return command(('find', 'heavy'), *more.items())


class Input:
    """`limit_ms`: of what would run for hours."""

    def __init__(self, name, n, make, prepare=None, limit_ms=None):
        self.name, self.n, self.make, self.prepare, self.limit_ms = name, n, make, prepare, limit_ms

    def message(self, n=None, *more):
        limited = self.limit_ms and all(name != 'maxTimeMS' for name, _ in more)
        return self.make(n or self.n)(list(more) + ([('maxTimeMS', self.limit_ms)] if limited else []))


def sums(levels, n):
    """An expression of a few hundred bytes that takes n to the power of `levels` steps."""
    inner = 1
    for _ in range(levels):
        inner = doc(('$reduce', doc(('input', doc(('$range', [0, n]))), ('initialValue', 0), ('in', doc(('$add', ['$$value', inner]))))))
    return inner


def specifications(n):
    return command(('createIndexes', 'indexed'), ('indexes', [doc(key=Document([('k%d' % i, 1)]), name='k%d' % i) for i in range(n)]))


def update(n):
    return command(('update', 'heavy'), ('updates', [doc(q=doc(('_id', 1)), u=doc(('$set', fields(n))))]))


def long_array(ask, n):
    """One document whose indexed array has n elements."""
    ask(('drop', 'arrays'))
    ask(('createIndexes', 'arrays'), ('indexes', [doc(key=doc(l=1), name='l')]))
    reply = ask(('insert', 'arrays'), ('documents', [doc(('_id', 1), ('l', list(range(n))))]))
    assert reply['ok'] == 1 and 'writeErrors' not in reply, reply


INPUTS = [
    Input('find projection', 500_000, lambda n: find(projection=fields(n))),
    Input('$project', 100_000, lambda n: aggregate(doc(('$project', fields(n))))),
    Input('$addFields', 100_000, lambda n: aggregate(doc(('$addFields', fields(n))))),
    Input('$unset', 100_000, lambda n: aggregate(doc(('$unset', ['f%d' % i for i in range(n)])))),
    Input('$set', 50_000, update),
    Input('createIndexes', 10_000, specifications),
    Input('$bucket', 500_000, lambda n: aggregate(doc(('$bucket', doc(groupBy='$_id', boundaries=list(range(n))))))),
    Input('validate', 40_000, lambda n: command(('validate', 'arrays')), long_array),
    Input('$or', 3_000, lambda n: find(filter=doc(('$or', [doc(y=i) for i in range(n)])))),
    Input('$or, indexed', 3_000, lambda n: command(('find', 'indexed'), ('filter', doc(('$or', [doc(y=i) for i in range(n)]))))),
    Input('$or of _id', 50_000, lambda n: find(filter=doc(('$or', [doc(('_id', i + 100)) for i in range(n)])))),
    Input('$and', 50_000, lambda n: find(filter=doc(('$and', [doc(y=i) for i in range(n)])))),
    Input('$in', 200_000, lambda n: find(filter=doc(y=doc(('$in', list(range(n))))))),
    Input('sort', 50_000, lambda n: find(sort=fields(n))),
    Input('$switch', 50_000, lambda n: aggregate(doc(('$project', doc(y=doc(('$switch', doc(
        branches=[doc(case=doc(('$eq', ['$y', i])), then=i) for i in range(n)], default=0)))))))),
    Input('$reduce in it', 3_000, lambda n: aggregate(doc(('$project', doc(y=sums(3, n))))), limit_ms=2_000),
    Input('$expr of it', 3_000, lambda n: find(filter=doc(('$expr', sums(3, n)))), limit_ms=2_000),
    Input('let of it', 3_000, lambda n: find(let=doc(v=sums(3, n))), limit_ms=2_000),
    Input('let', 50_000, lambda n: find(let=fields(n))),
]


def prepare(ask):
    """The collections that the inputs ask."""
    for name in ('heavy', 'indexed'):
        ask(('drop', name))
        ask(('createIndexes', name), ('indexes', [doc(key=doc(y=1), name='y')] if name == 'indexed' else []))
        reply = ask(('insert', name), ('documents', [doc(('_id', i), ('y', i), ('a', doc(b=i))) for i in range(20)]))
        assert reply['ok'] == 1 and 'writeErrors' not in reply, reply

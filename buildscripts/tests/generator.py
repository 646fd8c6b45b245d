# SPDX-License-Identifier: Apache-2.0
"""Deep, long and wide inputs for every word that the server's own tables have.

The server lists its words (listLanguage): commands with their fields, stages, expressions, accumulators, update
operators, filters, projections, index options, keywords of $jsonSchema. For each a *seed* is made: a small command in
which the word stands with an argument that the server accepts. The argument is found by asking: common ones are tried,
then objects with the names that the error texts ask for; SAMPLES has what cannot be guessed. A word for which none is
found is attacked all the same, with arguments that it refuses.

An *attack* changes a seed at one place: a value becomes deep, long or wide, a name a path of many parts. Every attack
has a size n. A case is a word, a host (where such words may stand), a place, an attack, n and a collection; its name says
all of it and replays it."""
import functools
import itertools
import re

from raw_bson import Date, Document, Long, Raw, doc, encode, message, nest, of_python

DB = 'generated'
# Commands that end, block or reconfigure the server, and one that echoes.
LEFT_OUT = {'shutdown', 'fsync', 'fsyncUnlock', 'configureFailPoint', 'sleep', 'setParameter', 'dropDatabase', 'echo',
            'replSetStepDown', 'killAllSessions', 'logRotate', 'profile'}
SCRIPTS = {'$where', '$function', '$accumulator', '$_internalJsEmit', '$_internalJsReduce', 'mapReduce'}
COLLECTIONS = ('missing', 'empty', 'few')


@functools.lru_cache(maxsize=8)
def documents_of(wide, long):
    """One plain document, and few: it, one with long arrays, one nearly as deep as can be inserted, a wide one."""
    plain = of_python({'_id': 1, 'n': 1, 's': 's', 'b': True, 'l': [1, 2], 'o': {'n': 1}, 'p': [{'k': 'x', 'v': 1}], 'm': ['s'],
                       'z': None, 'x': b'x', 'f': 1.5}) + Document([('d', Date(1))])

    def like(number, **changes):
        return Document((name, number if name == '_id' else changes.get(name, value)) for name, value in plain)
    few = [plain,
           like(2, l=list(range(long)), m=['s%d' % i for i in range(long)],
                p=[doc(k='k%d' % i, v=i) for i in range(long)]),
           like(3, o=nest(90, ('n',)), l=[nest(90, ('0',), 4)]),
           like(4, s='s' * long, x=b'x' * long, o=Document(('f%d' % i, i) for i in range(wide)))]
    return Raw(*encode([plain])), Raw(*encode(few))


def fill(ask, size=20_000, only=None, few='few'):
    """The collections: `plain`, on which seeds are tried, `few` of documents of a size, and one without any."""
    plain, many = documents_of(size, size)
    for collection, documents in (('plain', plain), (few, many), ('empty', None))[:1 if only else 3]:
        ask(('drop', collection))
        if documents is None:
            ask(('create', collection))
            continue
        reply = ask(('insert', collection), ('documents', documents))
        if reply is None or reply['ok'] != 1 or 'writeErrors' in reply:
            raise AssertionError('%s: %s' % (collection, reply))
        ask(('createIndexes', collection), ('indexes', [doc(key=doc(n=1), name='n'), doc(key=doc(('o.n', 1)), name='o')]))


# ---- what stands around a word ------------------------------------------------------------------------------------

def aggregate(*stages):
    return lambda c: doc(aggregate=c, pipeline=list(stages), cursor=doc())


def find(**fields):
    return lambda c: doc(find=c, **fields)


def update(u, q=Document(), **more):
    return lambda c: doc(update=c, updates=[doc(q=q, u=u, **more)])


def schema_hosts(x):
    return [find(filter=doc(('$jsonSchema', x))), find(filter=doc(('$jsonSchema', doc(properties=doc(o=x))))),
            lambda c: doc(create=c + 'Made', validator=doc(('$jsonSchema', x)))]


def expression_hosts(x):
    return [aggregate(doc(('$project', doc(y=x)))), find(projection=doc(y=x)), find(filter=doc(('$expr', x))),
            aggregate(doc(('$group', doc(('_id', x))))), aggregate(doc(('$addFields', doc(('y.y', x))))),
            update([doc(('$set', doc(y=x)))]), aggregate(doc(('$group', doc(('_id', None), ('y', doc(('$push', x))))))),
            lambda c: doc(findAndModify=c, query=doc(n=1), update=[doc(('$set', doc(y=x)))]),
            aggregate(doc(('$redact', doc(('$cond', [x, '$$KEEP', '$$PRUNE']))))),
            aggregate(doc(('$bucket', doc(groupBy=x, boundaries=[0, 1], default=0)))),
            aggregate(doc(('$lookup', doc(('from', c_other), ('let', doc(v=x)), ('pipeline', []), ('as', 'y'))))),
            lambda c: doc(find=c, let=doc(v=x))]


c_other = 'plain'


def filter_hosts(x):
    return [find(filter=x), aggregate(doc(('$match', x))), lambda c: doc(count=c, query=x),
            lambda c: doc(distinct=c, key='n', query=x), update(doc(('$set', doc(y=1))), x),
            lambda c: doc(delete=c, deletes=[doc(q=x, limit=1)]), find(filter=doc(p=doc(('$elemMatch', x)))),
            lambda c: doc(findAndModify=c, query=x, remove=True), update(doc(('$pull', doc(p=x)))),
            aggregate(doc(('$limit', 1)), doc(('$match', x))),
            lambda c: doc(createIndexes=c, indexes=[doc(key=doc(('y', 1)), name='y', partialFilterExpression=x)]),
            lambda c: doc(create=c + 'Made', validator=x), find(projection=doc(p=doc(('$elemMatch', x)))),
            lambda c: doc(explain=doc(find=c, filter=x))]


def stage_hosts(stage):
    return [aggregate(stage), aggregate(doc(('$limit', 1)), stage), aggregate(doc(('$facet', doc(y=[stage])))),
            aggregate(doc(('$unionWith', doc(coll='plain', pipeline=[stage])))), update([stage]),
            aggregate(doc(('$lookup', doc(('from', 'plain'), ('pipeline', [stage]), ('as', 'y'))))),
            lambda c: doc(explain=doc(aggregate=c, pipeline=[stage], cursor=doc()))]


def update_hosts(u):
    return [update(u), update(u, doc(('_id', 9)), upsert=True), lambda c: doc(findAndModify=c, query=doc(n=1), update=u),
            update(u, multi=True)]


def beside(others, own):
    """`own` with other members before it; alone where an attack made something else of it."""
    return doc(*others) + own if isinstance(own, Document) else own


def hosts_of(kind, word, own):
    """The commands in which `own`, {word: argument}, may stand, as functions of a collection's name. Of a command's field
    it is the argument."""
    if kind == 'stages':
        return stage_hosts(own)
    if kind == 'expressions':
        return expression_hosts(own)
    if kind == 'accumulators':
        return [aggregate(doc(('$group', doc(('_id', None), ('y', own))))),
                aggregate(doc(('$bucketAuto', doc(groupBy='$n', buckets=2, output=doc(y=own)))))]
    if kind == 'updates':
        return update_hosts(own)
    if kind == 'filters':
        operators = beside([('$regex', 's')], own) if word == '$options' else own  # which does not stand alone
        return filter_hosts(doc(n=operators)) + filter_hosts(doc(('o.n', operators)))[:2] + [
            update(doc(('$set', doc(('p.$[i].v', 1)))), arrayFilters=[doc(('i.v', operators))])]
    if kind == 'documentFilters':
        return filter_hosts(own)
    if kind == 'projections':
        return [find(projection=doc(p=own)), lambda c: doc(findAndModify=c, query=doc(n=1), update=doc(('$set', doc(y=1))), fields=doc(p=own))]
    if kind == 'schema':
        base = {'exclusiveMinimum': 'minimum', 'exclusiveMaximum': 'maximum'}.get(word)
        return schema_hosts(beside([(base, 1)], own) if base else own)
    if kind == 'indexOptions':
        spec = beside([pair for pair in doc(key=doc(n=-1), name='made') if pair[0] != word], own)
        return [lambda c: doc(createIndexes=c, indexes=[spec]), lambda c: doc(create=c + 'Made', idIndex=spec)]
    command, field = word.split('.', 1)
    return [lambda c: command_with(command, field, own, c)]


# What commands need to be accepted; a collection's name stands for "c". Others get {command: collection}.
COMMANDS = dict(of_python({
    'aggregate': {'pipeline': [], 'cursor': {}}, 'count': {}, 'find': {}, 'create': {}, 'insert': {'documents': [{'y': 1}]},
    'createIndexes': {'indexes': [{'key': {'y': 1}, 'name': 'y'}]}, 'delete': {'deletes': [{'q': {}, 'limit': 1}]},
    'distinct': {'key': 'n'}, 'findAndModify': {'query': {'n': 1}, 'update': {'$set': {'y': 1}}}, 'explain': {},
    'update': {'updates': [{'q': {}, 'u': {'$set': {'y': 1}}}]}, 'mapReduce': {'map': 'function() {}', 'reduce': 'function() {}', 'out': {'inline': 1}},
    'createUser': {'pwd': 'x', 'roles': []}, 'updateUser': {'pwd': 'x'}, 'renameCollection': {'to': DB + '.renamed'},
    'grantRolesToUser': {'roles': ['read']}, 'revokeRolesFromUser': {'roles': ['read']}, 'getMore': {'collection': 'few'},
    'saslStart': {'mechanism': 'SCRAM-SHA-256', 'payload': b'n,,n=x,r=y'}, 'saslContinue': {'conversationId': 1, 'payload': b'c'},
    'killCursors': {'cursors': [1]}, 'logApplicationMessage': {}, 'listIndexes': {}, '_mergeAuthzCollections':
        {'tempUsersCollection': 'generated.x', 'tempRolesCollection': '', 'db': '', 'drop': False}}))
FIRST = dict(of_python({'explain': {'find': 'few', 'filter': {'n': 1}}, 'killSessions': [], 'endSessions': [], 'refreshSessions': [],
                   'killAllSessionsByPattern': [], 'dataSize': DB + '.few', 'renameCollection': DB + '.missing', 'getMore': Long(1)}))


def command_with(command, field, x, c):
    """`field` is the command's own name for its first value."""
    first = x if field == command else FIRST.get(command, c + 'Made' if command in ('create', 'createUser') else c)
    made = doc((command, first)) + Document(COMMANDS.get(command, []))
    return made if field == command else Document((n, v) for n, v in made if n != field) + doc((field, x))


# Arguments that no guess finds.
SAMPLES = {
    'stages': {
        '$lookup': {'from': 'plain', 'localField': 'n', 'foreignField': 'n', 'let': {'v': '$n'}, 'pipeline': [{'$match': {'n': 1}}], 'as': 'y'},
        '$graphLookup': {'from': 'plain', 'startWith': '$n', 'connectFromField': 'n', 'connectToField': 'n', 'as': 'y', 'depthField': 'e',
                         'maxDepth': 2, 'restrictSearchWithMatch': {'n': 1}},
        '$merge': {'into': 'merged', 'on': '_id', 'let': {'v': '$n'}, 'whenMatched': [{'$set': {'y': '$$v'}}], 'whenNotMatched': 'insert'},
        '$out': {'db': DB, 'coll': 'out'}, '$unionWith': {'coll': 'plain', 'pipeline': [{'$match': {'n': 1}}]},
        '$bucket': {'groupBy': '$n', 'boundaries': [0, 1, 2], 'default': 'other', 'output': {'y': {'$sum': '$n'}}},
        '$bucketAuto': {'groupBy': '$n', 'buckets': 3, 'output': {'y': {'$sum': '$n'}}}, '$group': {'_id': {'n': '$n'}, 'y': {'$sum': '$n'}},
        '$facet': {'y': [{'$match': {'n': 1}}, {'$project': {'n': 1}}]}, '$redact': {'$cond': [{'$eq': ['$n', 1]}, '$$DESCEND', '$$PRUNE']},
        '$unwind': {'path': '$l', 'includeArrayIndex': 'i', 'preserveNullAndEmptyArrays': True}, '$sort': {'n': 1, 'o.n': -1},
        '$project': {'n': 1, 'o.n': 1, 'y': {'z': '$n'}}, '$addFields': {'y': '$n', 'o.y': {'z': '$n'}}, '$set': {'y': '$$ROOT', 'o.y': {'z': '$n'}},
        '$unset': ['n', 'o.n'], '$replaceRoot': {'newRoot': {'y': '$$ROOT'}}, '$replaceWith': {'y': '$$ROOT'}, '$sample': {'size': 2},
        '$documents': [{'y': 1}, {'y': {'$add': [1, 2]}}], '$match': {'n': 1, 'o.n': {'$gte': 1}}, '$currentOp': {'allUsers': True},
        '$collStats': {'count': {}}, '$changeStream': {'fullDocument': 'updateLookup'}},
    'expressions': {
        '$cond': {'if': '$n', 'then': '$s', 'else': '$o'}, '$let': {'vars': {'v': '$n', 'w': 1}, 'in': {'$add': ['$$v', '$$w']}},
        '$switch': {'branches': [{'case': {'$eq': ['$n', 2]}, 'then': 1}, {'case': '$b', 'then': 2}], 'default': 3},
        '$map': {'input': '$l', 'as': 'v', 'in': {'y': '$$v'}}, '$filter': {'input': '$l', 'as': 'v', 'cond': {'$gt': ['$$v', 1]}, 'limit': 1},
        '$reduce': {'input': '$l', 'initialValue': 0, 'in': {'$add': ['$$value', 1]}}, '$zip': {'inputs': ['$l', '$m'], 'useLongestLength': True, 'defaults': [0, 1]},
        '$getField': {'field': 'n', 'input': '$$ROOT'}, '$setField': {'field': 'y', 'input': '$$ROOT', 'value': '$n'}, '$unsetField': {'field': 'n', 'input': '$$ROOT'},
        '$sortArray': {'input': '$p', 'sortBy': {'k': 1, 'v': -1}}, '$regexFind': {'input': '$s', 'regex': 's', 'options': 'i'},
        '$regexFindAll': {'input': '$s', 'regex': 's', 'options': 'i'}, '$regexMatch': {'input': '$s', 'regex': 's', 'options': 'i'},
        '$percentile': {'input': '$l', 'p': [0.1, 0.9], 'method': 'approximate'}, '$median': {'input': '$l', 'method': 'approximate'},
        '$replaceAll': {'input': '$s', 'find': 's', 'replacement': 't'}, '$dateFromParts': {'year': 2000, 'month': 1, 'timezone': 'UTC'},
        '$dateToString': {'date': '$d', 'format': '%Y', 'timezone': 'UTC'}, '$dateFromString': {'dateString': '2000-01-01', 'format': '%Y-%m-%d'},
        '$dateTrunc': {'date': '$d', 'unit': 'day'}, '$dateAdd': {'startDate': '$d', 'unit': 'day', 'amount': 1},
        '$dateSubtract': {'startDate': '$d', 'unit': 'day', 'amount': 1}, '$dateDiff': {'startDate': '$d', 'endDate': '$d', 'unit': 'day'},
        '$convert': {'input': '$n', 'to': 'string', 'onError': 1}, '$firstN': {'input': '$l', 'n': 1}, '$lastN': {'input': '$l', 'n': 1},
        '$minN': {'input': '$l', 'n': 1}, '$maxN': {'input': '$l', 'n': 1}, '$allElementsTrue': ['$l'], '$anyElementTrue': ['$l'], '$size': '$l', '$range': [0, 3], '$meta': 'recordId', '$literal': {'y': [1, {'z': 2}]},
        '$const': {'y': [1, {'z': 2}]}, '$mergeObjects': ['$o', {'y': 1}], '$concatArrays': ['$l', '$m'], '$setUnion': ['$l', '$m'],
        '$setIntersection': ['$m', '$l'], '$setDifference': ['$m', '$l'], '$setEquals': ['$m', '$l'], '$setIsSubset': ['$m', '$l'], '$in': ['$n', '$l'],
        '$indexOfArray': ['$l', 2], '$indexOfBytes': ['$s', 't'], '$indexOfCP': ['$s', 't'], '$split': ['$s', 's'], '$arrayToObject': '$p', '$objectToArray': '$o'},
    'accumulators': {'$firstN': {'input': '$n', 'n': 2}, '$lastN': {'input': '$n', 'n': 2}, '$minN': {'input': '$n', 'n': 2}, '$maxN': {'input': '$n', 'n': 2},
                     '$median': {'input': '$n', 'method': 'approximate'},'$top': {'output': '$n', 'sortBy': {'n': 1}}, '$topN': {'output': '$n', 'sortBy': {'n': 1, 'o.n': -1}, 'n': 2},
                     '$bottom': {'output': '$n', 'sortBy': {'n': 1}}, '$bottomN': {'output': '$n', 'sortBy': {'n': 1}, 'n': 2},
                     '$percentile': {'input': '$n', 'p': [0.1, 0.9], 'method': 'approximate'}, '$mergeObjects': '$o', '$push': {'y': '$l'}, '$addToSet': {'y': '$l'}},
    'updates': {'$push': {'l': {'$each': [1, 2], '$position': 0, '$slice': 5, '$sort': 1}, 'p': {'$each': [{'v': 1}], '$sort': {'v': 1, 'k': -1}}},
                '$addToSet': {'l': {'$each': [1, 2]}, 'p': {'k': 1}}, '$set': {'y': {'z': 1}, 'o.n': 2}, '$pull': {'p': {'v': {'$in': [1, 2]}}, 'l': 2},
                '$pullAll': {'l': [1, 2]}, '$bit': {'n': {'and': 1}}, '$currentDate': {'d': {'$type': 'date'}}, '$rename': {'n': 'y', 'o.n': 'o.y'}},
    'filters': {'$elemMatch': {'$gt': 1}, '$not': {'$gt': 1}, '$in': [1, 's'], '$nin': [1, 's'], '$all': [1, {'y': 1}], '$mod': [2, 1], '$regex': '^s'},
    'documentFilters': {'$and': [{'n': 1}, {'s': 's'}], '$or': [{'n': 1}, {'s': 's'}], '$nor': [{'n': 2}, {'s': 't'}], '$expr': {'$eq': ['$n', 1]},
                        '$jsonSchema': {'required': ['n'], 'properties': {'n': {'type': 'number'}}}},
    'projections': {'$slice': [0, 1], '$elemMatch': {'v': 1}},
    'schema': {'allOf': [{'required': ['n']}], 'anyOf': [{'required': ['n']}, {'minProperties': 1}], 'oneOf': [{'required': ['n']}],
               'properties': {'n': {'type': 'number'}, 'o': {'properties': {'n': {'type': 'number'}}}}, 'patternProperties': {'^n': {'type': 'number'}},
               'dependencies': {'n': ['s'], 's': {'required': ['n']}}, 'items': [{'type': 'number'}], 'enum': [1, {'y': 1}], 'required': ['n', 's'],
               'type': ['object', 'number'], 'bsonType': ['object', 'int']},
    'indexOptions': {'partialFilterExpression': {'n': {'$gt': 1}}, 'key': {'y': 1, 'o.y': -1}, 'storageEngine': {'wiredTiger': {'configString': ''}}},
    'commandFields': {
        'applyOps.applyOps': [{'op': 'i', 'ns': DB + '.plain', 'o': {'_id': 1, 'y': [1]}}, {'op': 'u', 'ns': DB + '.plain', 'o2': {'_id': 1}, 'o': {'$v': 2, 'diff': {'u': {'y': 1}}}}],
        'aggregate.pipeline': [{'$match': {'n': 1}}, {'$sort': {'n': 1}}, {'$group': {'_id': '$n'}}], 'createIndexes.indexes': [{'key': {'y': 1, 'o.y': -1}, 'name': 'y'}],
        'create.idIndex': {'key': {'_id': 1}, 'name': '_id_'}, 'create.validator': {'n': {'$gt': 0}}, 'collMod.validator': {'n': {'$gt': 0}}, 'collMod.index': {'name': 'n', 'hidden': True},
        'insert.documents': [{'y': 1}, {'y': {'z': [1]}}], 'update.updates': [{'q': {'n': 1}, 'u': {'$set': {'m.$[i]': 1}}, 'arrayFilters': [{'i': 1}], 'hint': 'n', 'multi': False}],
        'delete.deletes': [{'q': {'n': 1}, 'limit': 1, 'hint': {'n': 1}}], 'find.filter': {'n': 1, 'o.n': 1}, 'find.projection': {'n': 1, 'o.n': 1}, 'find.sort': {'n': 1, 'o.n': -1},
        'find.hint': {'n': 1}, 'find.min': {'n': 1}, 'find.max': {'n': 1}, 'find.let': {'v': 1}, 'aggregate.let': {'v': 1}, 'update.let': {'v': 1}, 'delete.let': {'v': 1}, 'findAndModify.let': {'v': 1},
        'findAndModify.fields': {'n': 1, 'o.n': 1}, 'findAndModify.sort': {'n': 1}, 'findAndModify.update': {'$set': {'y': 1}, '$inc': {'n': 1}}, 'findAndModify.arrayFilters': [{'i': 1}],
        'createUser.roles': ['read', {'role': 'read', 'db': 'x'}], 'createUser.customData': {'y': 1}, 'createUser.mechanisms': ['SCRAM-SHA-256'], 'usersInfo.usersInfo': [{'user': 'x', 'db': 'y'}],
        'createUser.authenticationRestrictions': [{'clientSource': ['127.0.0.1']}], 'rolesInfo.rolesInfo': [{'role': 'read', 'db': 'x'}], 'dropIndexes.index': ['x', 'y'], 'distinct.key': 'o.n',
        'explain.explain': {'find': 'few', 'filter': {'n': 1}, 'projection': {'n': 1}}, 'killCursors.cursors': [1, 2], 'listCollections.filter': {'name': 'n'}, 'listDatabases.filter': {'name': 'n'},
        'mapReduce.scope': {'v': 1}, 'killSessions.killSessions': [{'id': 1}], 'hello.hello': 1, 'dbHash.collections': ['plain'], 'dataSize.keyPattern': {'n': 1}, 'dataSize.min': {'n': 1}, 'dataSize.max': {'n': 2},
        'killAllSessionsByPattern.killAllSessionsByPattern': [{'lsid': {'id': 1}, 'users': [{'user': 'x', 'db': 'y'}]}], 'create.collation': {'locale': 'simple'}, 'find.collation': {'locale': 'simple'}}}
SAMPLES = {kind: {name: of_python(value) for name, value in samples.items()} for kind, samples in SAMPLES.items()}
TIME_LIMIT_MS = 5_000
# Commands after which the collections are made anew.
CHANGING = {'applyOps', 'create', 'createUser', 'createIndexes', 'collMod', 'delete', 'drop', 'dropIndexes', 'findAndModify', 'insert', 'renameCollection',
            'update', 'updateUser'}
# Codes of replies that say that the server is wrong, not the input.
INTERNAL = {1, 8}
# What mongod says with such a code of the input.
ANSWERS_WITH_INTERNAL_CODES = {(8, 'applyOps had one or more errors applying ops')}


def is_internal(code, text):
    """Whether an error says that the server is wrong."""
    return not isinstance(code, int) or (code in INTERNAL and (code, text) not in ANSWERS_WITH_INTERNAL_CODES)


FIELDS = ('$n', '$s', '$d', '$l', '$o', '$b', '$m', '$p', '$x', '$f')
COMMON = [1, '$n', '$s', '$d', '$l', '$o', '$p', 'n', 's', Document(), doc(n=1), doc(n='$n'), doc(n='y'), doc(n='number'), True, False, [1], ['n'],
          [doc(n=1)], [doc(('$limit', 1))], doc(('o.n', 1)), doc(l=1), doc(l=[1]), doc(n=doc(('and', 1))), [], doc(p=doc(v=1)), [1, 2], '$x', '$f', b'x', Long(1), 0.5]


class Word:
    """A word with the argument that was found for it."""

    def __init__(self, kind, name, argument, accepted):
        self.kind, self.name, self.argument, self.accepted = kind, name, argument, accepted

    def __str__(self):
        return self.kind + '/' + self.name

    def seed(self):
        return self.argument if self.kind == 'commandFields' else doc((self.name, self.argument))

    def hosts(self, seed=None):
        return hosts_of(self.kind, self.name, self.seed() if seed is None else seed)


class Language:
    """All words, each with an accepted argument where one could be found. `ask` takes a message's bytes."""

    def __init__(self, ask):
        self.ask = ask
        listed = words_listed(ask)
        self.admin = {c['name'] for c in listed['commands'] if c['adminOnly']}
        self.words = []
        for kind, entries in listed.items():
            if kind == 'commands':
                self._add_commands(entries, listed['genericArguments'])
            elif kind == 'indexOptions':
                self.words += [self._learn(kind, name, [], self._tidy) for name in entries]
            elif isinstance(entries, list) and kind != 'genericArguments':
                self._tidy()
                self.words += [self._learn(kind, entry['name'], candidates_of(entry)) for entry in entries]

    def _tidy(self):
        """Takes back what has been accepted."""
        for pair in (('drop', 'plainMade'), ('dropAllUsersFromDatabase', 1)):
            self.ask(message(pair, ('$db', DB)))
        fill(lambda *pairs: self.ask(message(*pairs, ('$db', DB))), only='plain')

    def _add_commands(self, commands, generic):
        for command in commands:
            name = command['name']
            if name in LEFT_OUT:
                continue
            for field in [name] + command['fields']:
                self.words.append(self._learn('commandFields', name + '.' + field, [], self._tidy if name in CHANGING else None))
        for field in generic:
            if field not in ('$db', 'help'):
                self.words.append(self._learn('commandFields', 'find.' + field, []))

    def message_of(self, word, seed, host, collection):
        """With a time limit, which what is large in two places may need."""
        made = word.hosts(seed)[host](collection)
        own = {name for name, _ in made}
        admin = word.kind == 'commandFields' and word.name.split('.')[0] in self.admin
        more = doc(maxTimeMS=TIME_LIMIT_MS, **{'$db': 'admin' if admin else DB})
        return message(*made, *((name, value) for name, value in more if name not in own))

    def _learn(self, kind, name, candidates, tidy=None):
        if tidy:
            tidy()
        sample = SAMPLES.get(kind, {}).get(name)
        first = None
        tries = ([sample] if sample is not None else []) + candidates + COMMON
        for argument in tries:
            word = Word(kind, name, argument, True)
            first = first or word
            if self._accepts(word):
                return word
        asked = self._ask_for(kind, name)
        if asked is None:
            first.accepted = False
        return asked or first

    def _accepts(self, word, texts=None):
        for host in range(len(word.hosts())):
            reply = self.ask(self.message_of(word, None, host, 'plain'))
            if reply and reply.get('ok') == 1 and 'writeErrors' not in reply:
                return True
            if texts is not None and reply:
                texts.append(reply.get('errmsg') or '')
            if word.kind in ('expressions', 'documentFilters', 'filters'):
                return False  # the first host is as good as all
        return False

    def _ask_for(self, kind, name):
        """An object with the fields that the error texts name."""
        argument = Document()
        for _ in range(8):
            texts = []
            word = Word(kind, name, argument, True)
            if self._accepts(word, texts):
                return word
            known = {field for field, _ in argument}
            named = [w for text in texts for w in re.findall(r"'([A-Za-z]\w*)'|\b(\w+)\b(?= (?:to be|field|argument|parameter))", text)]
            fresh = [w for pair in named for w in pair if w and w not in known]
            if not fresh:
                return None
            argument = argument + doc((fresh[0], '$n'))
        return None


def candidates_of(entry):
    """Arguments of an expression by how many it takes."""
    if entry['arguments']:
        least = entry['arguments'][:max(entry['argumentsMin'], 1)]
        return [Document(zip(least, values)) for values in itertools.product(('$s', '$d', '$n', '$l'), repeat=min(len(least), 3))]
    least, most = entry['argumentsMin'], entry['argumentsMax']
    if most == 0:
        return []
    count = min(max(least, 2), most, 3)
    return [[field] * count for field in FIELDS] + [list(x) for x in itertools.product(FIELDS[:5] + (1,), repeat=count)] if count > 1 else \
        [[field] for field in FIELDS] + [[1], [0.5]]


def words_listed(ask):
    import bson  # pymongo's, once harness has brought it
    reply = bson.decode(ask(message(('listLanguage', 1), ('$db', 'admin')), whole=True))
    if reply['ok'] != 1:
        raise AssertionError(reply)
    return reply

# SPDX-License-Identifier: Apache-2.0
"""Deep paths, documents and pipelines against a server that was started with a small stack: each is answered, what is
too deep is refused, and what was stored obeys one bound, whichever way it came."""
import unittest

import harness

pymongo = harness.import_pymongo()
OVERFLOW = 15
PATH_PARTS_MAX, NESTING_MAX = 200, 180
STACK_KIB = 1024


class SmallStackServer(harness.Server):
    def command(self):
        return ['bash', '-c', 'ulimit -s %d; exec "$@"' % STACK_KIB, 'bash'] + super().command()


def path(parts):
    return '.'.join(['a'] * parts)


def nested(levels, inside=1):
    """A document of that many levels."""
    for _ in range(levels):
        inside = {'a': inside}
    return inside


def levels_of(document):
    count = 0
    while isinstance(document, (dict, list)):
        values = list(document.values()) if isinstance(document, dict) else document
        document = next((value for value in values if isinstance(value, (dict, list))), None)
        count += 1
    return count


class DepthTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = SmallStackServer()
        cls.server.start()
        cls.db = cls.server.client(serverSelectionTimeoutMS=5000).depth

    @classmethod
    def tearDownClass(cls):
        try:
            assert cls.server.process.poll() is None, cls.server.log_text()[-2000:]
        finally:
            cls.server.__exit__()

    def setUp(self):
        self.db.c.drop()
        self.db.c.insert_one({'_id': 1, 'x': [1, 2], 'y': {'z': 1}})

    def refused(self, action, code=OVERFLOW):
        with self.assertRaises(pymongo.errors.OperationFailure) as raised:
            action()
        self.assertEqual(raised.exception.code, code, str(raised.exception)[:200])

    def aggregate(self, *stages, collection='c'):
        return list(self.db[collection].aggregate(list(stages)))

    def test_long_paths(self):
        for parts in (PATH_PARTS_MAX + 1, 1000, 28000, 300000):
            long = path(parts)
            for stage in ({'$addFields': {long: 1}}, {'$set': {long: 1}}, {'$project': {long: 1}}, {'$project': {long: 0}},
                          {'$project': {long: {'$literal': 1}}}, {'$unset': long}, {'$unset': [long]}, {'$sort': {long: 1}},
                          {'$unwind': '$' + long}, {'$unwind': {'path': '$x', 'includeArrayIndex': long}}, {'$group': {'_id': '$' + long}},
                          {'$lookup': {'from': 'c', 'localField': '_id', 'foreignField': '_id', 'as': long}},
                          {'$graphLookup': {'from': 'c', 'startWith': 1, 'connectFromField': '_id', 'connectToField': '_id', 'as': 'r',
                                            'depthField': long}}):
                for collection in ('c', 'none'):
                    with self.subTest(parts=parts, stage=next(iter(stage)), collection=collection):
                        self.refused(lambda: self.aggregate(stage, collection=collection))
            for projection in ({long: 1}, {long: 0}, {long: {'$literal': 1}}, {long: {'$slice': 1}}, {long + '.$': 1}):
                self.refused(lambda: list(self.db.c.find({'x': 1}, projection)))
                self.refused(lambda: list(self.db.none.find({'x': 1}, projection)))
            self.refused(lambda: list(self.db.c.find().sort(long, 1)))
            self.refused(lambda: self.db.c.distinct(long))
            self.refused(lambda: list(self.db.c.find({long: 1})), 5729100)
            self.refused(lambda: self.db.c.find_one_and_update({}, {'$set': {'q': 1}}, projection={long: 1}))
            self.refused(lambda: self.db.c.create_index([(long, 1)], name='long'))
            for update in ({'$set': {long: 1}}, {'$unset': {long: 1}}, {'$rename': {'x': long}}, {'$rename': {long: 'x'}},
                           {'$push': {long: 1}}, [{'$set': {long: 1}}], [{'$unset': long}]):
                self.refused(lambda: self.db.c.update_one({'_id': 1}, update))
                self.refused(lambda: self.db.c.update_one({'_id': 2}, update, upsert=True))

    def test_stored_depth(self):
        deep = nested(NESTING_MAX - 20)
        self.db.c.insert_one({'_id': 'deep', 'a': deep})
        for name, update in (('operators', {'$set': {path(25): deep}}), ('push', {'$push': {path(20): deep}}),
                             ('rename', {'$rename': {'a': 'b.' + path(25)}}), ('pipeline', [{'$set': {'b.' + path(25): '$a'}}]),
                             ('wrap', [{'$replaceWith': nested(25, '$$ROOT')}])):
            with self.subTest(name):
                self.refused(lambda: self.db.c.update_one({'_id': 'deep'}, update))
                self.refused(lambda: self.db.c.find_one_and_update({'_id': 'deep'}, update))
                if name in ('operators', 'push'):
                    self.refused(lambda: self.db.c.update_one({'_id': 'new'}, update, upsert=True))
        self.refused(lambda: self.db.c.update_one({path(100): nested(100)}, {'$set': {'q': 1}}, upsert=True))
        for output in ({'$out': 'o'}, {'$merge': 'o'}, {'$merge': {'into': 'o', 'whenMatched': 'replace'}},
                       {'$merge': {'into': 'o', 'whenMatched': 'fail'}}):
            self.db.o.drop()
            self.refused(lambda: self.aggregate({'$set': {path(190): 1}}, output))
            self.aggregate({'$match': {'_id': 1}}, {'$set': {path(NESTING_MAX): 1}}, output)
        for collection in ('c', 'o'):
            for document in self.db[collection].find():
                self.assertLessEqual(levels_of(document), NESTING_MAX)

    def test_what_stages_make(self):
        for stage in ({'$replaceWith': {'a': '$$ROOT'}}, {'$addFields': {'y': {'w': '$y'}}}, {'$group': {'_id': {'k': '$_id'}}},
                      {'$group': {'_id': 1, 'x': {'$push': '$$ROOT'}}}, {'$facet': {'x': [{'$match': {}}]}},
                      {'$lookup': {'from': 'c', 'as': 'r', 'let': {'v': '$$ROOT'}, 'pipeline': [{'$limit': 1}, {'$replaceWith': {'a': '$$v'}}]}}):
            with self.subTest(stage=next(iter(stage))):
                self.refused(lambda: self.aggregate(*[stage] * 250))
        for stage in ({'$match': {}}, {'$addFields': {'y': '$x'}}, {'$project': {'x': 1}}, {'$group': {'_id': 1}}, {'$sort': {'x': 1}},
                      {'$unwind': {'path': '$x', 'preserveNullAndEmptyArrays': True}}, {'$limit': 1}, {'$skip': 0}):
            with self.subTest(stage=next(iter(stage))):
                self.aggregate(*[stage] * 1000)

    def test_deep_operators(self):
        """As deep as a message may be."""
        for wrap in (lambda inside: {'$and': [inside]}, lambda inside: {'$nor': [inside]}, lambda inside: {'x': {'$elemMatch': inside}},
                     lambda inside: {'x': {'$not': {'$elemMatch': inside}}}):
            condition = {'q': 1}
            while levels_of(condition) < 170:
                condition = wrap(condition)
            list(self.db.c.find(condition))
        for wrap in (lambda inside: {'$not': [inside]}, lambda inside: {'$cond': [inside, inside if inside == 1 else 1, 2]},
                     lambda inside: {'k': inside}, lambda inside: [inside], lambda inside: {'$let': {'in': inside, 'vars': {'v': 1}}},
                     lambda inside: {'$map': {'in': inside, 'input': [1]}}):
            expression = 1
            while levels_of(expression) < 160:
                expression = wrap(expression)
            try:
                self.aggregate({'$project': {'r': {'$eq': [1, expression]}}})
            except pymongo.errors.OperationFailure as error:
                self.assertIn(error.code, (OVERFLOW, 16), error)
        schema = {'bsonType': 'object'}
        while levels_of(schema) < 170:
            schema = {'properties': {'a': schema}}
        list(self.db.c.find({'$jsonSchema': schema}))

    def test_scripts(self):
        self.db.c.insert_one({'_id': 'deep', 'a': nested(NESTING_MAX - 2)})
        self.assertEqual(len(list(self.db.c.find({'$where': 'tojson(this).length > 100'}))), 1)
        for body in ('const a = []; a.push(a); return a', 'let a = 1; for (let i = 0; i < 100000; ++i) a = [a]; return a',
                     'let a = {}; for (let i = 0; i < 100000; ++i) a = {a}; return a', 'function f() { return f() + 1 } return f()',
                     'let a = []; for (let i = 0; i < 100000; ++i) a = [a]; return JSON.stringify(a)',
                     'let a = []; for (let i = 0; i < 100000; ++i) a = [a]; return tojson(a)', 'return [1].sort(function f() { return [2, 1].sort(f) })',
                     'return new RegExp("(".repeat(50000) + ")".repeat(50000)).test("x")'):
            with self.subTest(body):
                try:
                    self.aggregate({'$project': {'r': {'$function': {'body': 'function() { %s }' % body, 'args': [], 'lang': 'js'}}}})
                except pymongo.errors.OperationFailure:
                    pass
                self.assertEqual(self.db.command('ping')['ok'], 1)

    def test_restart_with_deep_definitions(self):
        """What is kept of collections and indexes may be as deep as a message: the catalog reads it back."""
        condition = {'q': 1}
        while levels_of(condition) < 170:
            condition = {'$and': [condition, {'z': 1}]}
        for action in (lambda: self.db.create_collection('v', validator=condition),
                       lambda: self.db.c.create_index([('p', 1)], partialFilterExpression=condition),
                       lambda: self.db.create_collection('w', validator={'a': {'$eq': nested(165)}})):
            try:
                action()
            except pymongo.errors.OperationFailure as error:
                self.assertIn(error.code, (OVERFLOW, 2, 67), error)
        names = sorted(self.db.list_collection_names())
        self.server.kill()
        self.server.start()
        self.assertEqual(sorted(self.db.list_collection_names()), names)
        self.assertEqual(self.db.c.count_documents({}), 1)


if __name__ == '__main__':
    unittest.main()

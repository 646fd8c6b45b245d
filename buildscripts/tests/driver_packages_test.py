# SPDX-License-Identifier: Apache-2.0
"""Debian's package index through the wire by pymongo: loaded, indexed, queried, sorted, grouped; every
answer is checked against plain Python over the same documents."""
import collections
import os
import sys
import unittest

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
import debian_index  # noqa: E402
import harness  # noqa: E402

IDENTITY = ('package', 'version', 'architecture')


class PackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.import_pymongo()
        cls.docs = debian_index.installable()
        if len(cls.docs) < debian_index.RECORDS_LEAST:
            raise unittest.SkipTest('the package index has only %d records here' % len(cls.docs))
        cls.server = harness.Server().start()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = cls.server.client()
        cls.addClassCleanup(cls.client.close)
        cls.packages = cls.client.debian.packages
        for at in range(0, len(cls.docs), 1000):
            cls.packages.insert_many(cls.docs[at:at + 1000])
        cls.packages.create_index('package')
        cls.packages.create_index([('section', 1), ('installedSize', -1)])
        cls.packages.create_index('tags')
        cls.packages.create_index('description.lines')
        cls.packages.create_index([(name, 1) for name in IDENTITY], unique=True)

    def ids(self, query, **options):
        return [doc['_id'] for doc in self.packages.find(query, {'_id': 1}, **options)]

    def expect(self, query, test):
        """The query finds what the test says, by the indexes and by a scan of the collection."""
        wanted = sorted(doc['_id'] for doc in self.docs if test(doc))
        self.assertTrue(wanted, 'the query is to find something')
        self.assertEqual(sorted(self.ids(query)), wanted)
        self.assertEqual(sorted(self.ids(query, hint=[('$natural', 1)])), wanted)
        self.assertEqual(self.packages.count_documents(query), len(wanted))

    def plan(self, query):
        return str(self.client.debian.command('explain', {'find': 'packages', 'filter': query}))

    def test_everything_is_there_as_it_was(self):
        self.assertEqual(self.packages.count_documents({}), len(self.docs))
        got = {doc['_id']: doc for doc in self.packages.find({}, batch_size=777)}
        self.assertEqual(got, {doc['_id']: doc for doc in self.docs})

    def test_one_by_id(self):
        for doc in self.docs[::997]:
            self.assertEqual(self.packages.find_one({'_id': doc['_id']}), doc)

    def test_equality_uses_the_index(self):
        self.expect({'package': 'bash'}, lambda d: d['package'] == 'bash')
        self.assertIn('IXSCAN', self.plan({'package': 'bash'}))

    def test_range_in_a_compound_index(self):
        self.expect({'section': 'games', 'installedSize': {'$gte': 1000, '$lt': 5000}},
                    lambda d: d.get('section') == 'games' and 1000 <= d.get('installedSize', -1) < 5000)
        self.assertIn('IXSCAN', self.plan({'section': 'games', 'installedSize': {'$gte': 1000}}))

    def test_multikey_index(self):
        self.expect({'tags': 'role::program'}, lambda d: 'role::program' in d.get('tags', []))
        self.assertIn('IXSCAN', self.plan({'tags': 'role::program'}))

    def test_in_exists_and_logic(self):
        self.expect({'section': {'$in': ['shells', 'editors']}}, lambda d: d.get('section') in ('shells', 'editors'))
        self.expect({'homepage': {'$exists': False}, 'size': {'$lt': 5000}},
                    lambda d: 'homepage' not in d and d['size'] < 5000)
        self.expect({'$or': [{'package': 'vim'}, {'size': {'$gt': 300_000_000}}]},
                    lambda d: d['package'] == 'vim' or d['size'] > 300_000_000)
        self.expect({'$nor': [{'section': {'$ne': 'shells'}}, {'size': {'$gte': 100_000}}]},
                    lambda d: d.get('section') == 'shells' and d['size'] < 100_000)

    def test_regex(self):
        self.expect({'package': {'$regex': '^python3-py'}}, lambda d: d['package'].startswith('python3-py'))
        self.expect({'description.short': {'$regex': 'DATABASE', '$options': 'i'}},
                    lambda d: 'database' in d.get('description', {}).get('short', '').lower())

    def test_elem_match(self):
        self.expect({'depends': {'$elemMatch': {'$elemMatch': {'name': 'libc6', 'op': '>=', 'version': '2.34'}}}},
                    lambda d: any(c.get('name') == 'libc6' and c.get('op') == '>=' and c.get('version') == '2.34'
                                  for group in d.get('depends', []) for c in group))

    def test_sort_skip_limit_projection(self):
        for direction in (1, -1):
            want = sorted(self.docs, key=lambda d: d['_id'])
            want.sort(key=lambda d: d['size'], reverse=direction < 0)
            got = list(self.packages.find({}, {'size': 1, 'package': 1}).sort([('size', direction), ('_id', 1)]).skip(100).limit(500))
            self.assertEqual(got, [{'_id': d['_id'], 'package': d['package'], 'size': d['size']} for d in want[100:600]])

    def test_sort_by_an_index(self):
        got = [d['package'] for d in self.packages.find({}, {'package': 1}).sort('package', -1).limit(2000)]
        self.assertEqual(got, sorted((d['package'] for d in self.docs), reverse=True)[:2000])

    def test_group_and_sort(self):
        want = collections.defaultdict(lambda: [0, 0])
        for doc in self.docs:
            want[doc.get('section')][0] += 1
            want[doc.get('section')][1] += doc['size']
        got = list(self.packages.aggregate([
            {'$group': {'_id': '$section', 'n': {'$sum': 1}, 'bytes': {'$sum': '$size'}, 'avg': {'$avg': '$size'}}},
            {'$sort': {'n': -1, '_id': 1}}]))
        self.assertEqual({d['_id']: [d['n'], d['bytes']] for d in got}, dict(want))
        self.assertEqual([(-d['n'], str(d['_id'])) for d in got], sorted((-d['n'], str(d['_id'])) for d in got))
        for doc in got:
            self.assertAlmostEqual(doc['avg'], doc['bytes'] / doc['n'], places=3)

    def test_match_group_project_limit_count(self):
        libs = [d for d in self.docs if d.get('section') == 'libs']
        by_email = collections.Counter(d.get('maintainer', {}).get('email') for d in libs)
        got = list(self.packages.aggregate([
            {'$match': {'section': 'libs'}}, {'$group': {'_id': '$maintainer.email', 'n': {'$sum': 1}}},
            {'$sort': {'n': -1, '_id': 1}}, {'$limit': 10}, {'$project': {'_id': 0, 'email': '$_id', 'n': 1}}]))
        self.assertEqual([d['n'] for d in got], [n for _, n in by_email.most_common(10)])
        self.assertEqual(list(self.packages.aggregate([{'$match': {'section': 'libs'}}, {'$skip': 10}, {'$count': 'rest'}])),
                         [{'rest': len(libs) - 10}])

    def test_unique_index_refuses_a_second(self):
        pymongo = harness.import_pymongo()
        with self.assertRaises(pymongo.errors.DuplicateKeyError) as caught:
            self.packages.insert_one(dict({name: self.docs[0][name] for name in IDENTITY}, _id='twin'))
        self.assertIn('E11000 duplicate key error collection: debian.packages index: package_1_version_1_architecture_1 dup key', str(caught.exception))
        self.assertIsNone(self.packages.find_one({'_id': 'twin'}))

    def test_updates_and_deletes_keep_the_indexes(self):
        own = self.client.debian.own
        own.insert_many([doc for doc in self.docs if doc.get('section') in ('shells', 'editors', 'games')])
        own.create_index('tags')
        own.create_index('section')
        model = {doc['_id']: dict(doc) for doc in self.docs if doc.get('section') in ('shells', 'editors', 'games')}
        moved = own.update_many({'section': 'shells'}, {'$set': {'section': 'moved'}, '$push': {'tags': 'x::moved'}, '$inc': {'size': 1}})
        for doc in model.values():
            if doc['section'] == 'shells':
                doc.update(section='moved', tags=doc.get('tags', []) + ['x::moved'], size=doc['size'] + 1)
        self.assertEqual(moved.modified_count, sum(doc['section'] == 'moved' for doc in model.values()))
        own.update_many({'tags': 'role::program'}, {'$pull': {'tags': 'role::program'}, '$unset': {'homepage': ''}})
        for doc in model.values():
            if 'role::program' in doc.get('tags', []):
                doc['tags'] = [tag for tag in doc['tags'] if tag != 'role::program']
                doc.pop('homepage', None)
        gone = own.delete_many({'section': 'editors'})
        self.assertEqual(gone.deleted_count, sum(doc['section'] == 'editors' for doc in model.values()))
        model = {key: doc for key, doc in model.items() if doc['section'] != 'editors'}
        self.assertEqual({doc['_id']: doc for doc in own.find()}, model)
        for query, test in (({'section': 'moved'}, lambda d: d['section'] == 'moved'),
                            ({'tags': 'x::moved'}, lambda d: 'x::moved' in d.get('tags', [])),
                            ({'tags': 'role::program'}, lambda d: 'role::program' in d.get('tags', []))):
            self.assertEqual(sorted(d['_id'] for d in own.find(query)), sorted(k for k, d in model.items() if test(d)))

    def test_everything_survives_a_restart(self):
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        self.test_everything_is_there_as_it_was()
        self.test_multikey_index()


if __name__ == '__main__':
    unittest.main()

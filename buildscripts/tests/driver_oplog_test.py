# SPDX-License-Identifier: Apache-2.0
"""local.oplog.rs through pymongo: what tools that replicate ask of it, and that its entries, replayed, give the same collections."""
import os
import random
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

pymongo = bson = None


class OplogTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        global pymongo, bson
        pymongo = harness.import_pymongo()
        import bson as of_pymongo
        bson = of_pymongo
        cls.server = harness.Server(arguments=['--replSet', 'rs0']).start()
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = cls.server.client(directConnection=True)
        cls.addClassCleanup(cls.client.close)

    def setUp(self):
        self.oplog = self.client.local['oplog.rs']
        self.client.drop_database('t')
        self.db = self.client.t
        self.start = self.newest()['ts']

    def newest(self):
        return self.oplog.find({'op': {'$ne': 'n'}}).sort('$natural', -1).limit(1).next()

    def since(self, **more):
        """But for the notes that the server adds in quiet times."""
        return list(self.oplog.find({'ts': {'$gt': self.start}, 'op': {'$ne': 'n'}, **more}))

    def test_notes(self):
        self.assertIn({'msg': 'new primary'}, [entry['o'] for entry in self.oplog.find({'op': 'n'})])
        self.client.admin.command('appendOplogNote', data={'by': ['a', 'tool']})
        note = self.oplog.find_one({'op': 'n', 'ts': {'$gt': self.start}, 'o.by': 'a'})
        self.assertEqual((note['ns'], note['o']), ('', {'by': ['a', 'tool']}))
        for arguments, code in (({}, 4), ({'data': 1}, 14)):
            with self.assertRaises(pymongo.errors.OperationFailure) as caught:
                self.client.admin.command('appendOplogNote', **arguments)
            self.assertEqual(caught.exception.code, code)

    def test_a_quiet_member_goes_with_the_time(self):
        arguments = ['--replSet', 'rs0', '--setParameter', 'periodicNoopIntervalSecs=1']
        with harness.Server(arguments=arguments) as server, server.client(directConnection=True) as client:
            entries = []
            with client.local['oplog.rs'].find({'o.msg': 'periodic noop'}, cursor_type=pymongo.CursorType.TAILABLE_AWAIT) as tail:
                while len(entries) < 4 and tail.alive:
                    entries += list(tail)
            for earlier, later in zip(entries, entries[2:]):  # the time of an entry is that of the one before, or later
                self.assertGreater(later['ts'].time, earlier['ts'].time)
            self.assertGreaterEqual(client.admin.command('ping')['operationTime'], entries[-1]['ts'])

    def test_applied_entries_give_the_same_collections(self):
        for _ in range(100):
            write_something(self.db.a, self.client, random.Random(_))
        entries, there = self.since(), {one['_id']: one for one in self.db.a.find()}
        self.client.drop_database('t')
        for entry in entries:
            for one in [entry] + entry['o'].get('applyOps', []):
                one.pop('ui', None)  # the collection has another one now
            self.client.admin.command('applyOps', [entry])
        self.assertEqual({one['_id']: one for one in self.db.a.find()}, there)

    def test_the_fields_that_tools_read(self):
        session = self.client.start_session()
        self.db.c.insert_one({'_id': 1, 'a': {'b': 1, 'pad': 'x' * 50}}, session=session)
        self.db.c.update_one({'_id': 1}, {'$set': {'a.b': 2}})
        self.db.c.delete_one({'_id': 1})
        create, insert, update, delete = self.since()
        uuid = next(iter(self.db.list_collections()))['info']['uuid']
        self.assertEqual(create['o'], {'create': 'c', 'idIndex': {'v': 2, 'key': {'_id': 1}, 'name': '_id_'}})
        for entry, fields in ((create, {'op': 'c', 'ns': 't.$cmd'}), (insert, {'op': 'i', 'ns': 't.c', 'o2': {'_id': 1}}),
                              (update, {'op': 'u', 'o': {'$v': 2, 'diff': {'sa': {'u': {'b': 2}}}}, 'o2': {'_id': 1}}),
                              (delete, {'op': 'd', 'o': {'_id': 1}})):
            self.assertEqual({name: entry[name] for name in fields}, fields)
            self.assertEqual((entry['ui'], entry['t'], entry['v']), (uuid, 1, 2))
            self.assertGreater(entry['ts'], self.start)
        stamps = [entry['ts'] for entry in self.since()]
        self.assertEqual(stamps, sorted(set(stamps)))

    def test_a_tail_waits_and_is_woken(self):
        cursor = self.oplog.find({'ts': {'$gt': self.start}, 'ns': 't.c'}, cursor_type=pymongo.CursorType.TAILABLE_AWAIT, oplog_replay=True)
        cursor.max_await_time_ms(2_000)
        writer = threading.Timer(0.3, self.db.c.insert_many, [[{'_id': i} for i in range(10)]])
        writer.start()
        ids, rounds = [], 0
        while cursor.alive and len(ids) < 10:
            ids += [entry['o']['_id'] for entry in cursor]
            rounds += 1
        writer.join()
        self.assertEqual(ids, list(range(10)))
        self.assertLess(rounds, 14)  # each waits until there is something
        self.assertTrue(cursor.alive)
        cursor.close()

    def test_a_transaction_is_one_entry(self):
        self.db.create_collection('c')
        with self.client.start_session() as session, session.start_transaction():
            self.db.c.insert_one({'_id': 1}, session=session)
            self.db.c.update_one({'_id': 1}, {'$inc': {'n': 1}}, session=session)
        entry = self.newest()
        self.assertEqual([(one['op'], one['ns']) for one in entry['o']['applyOps']], [('i', 't.c'), ('u', 't.c')])
        self.assertEqual(entry['txnNumber'], 1)
        self.assertEqual(entry['prevOpTime'], {'ts': bson.Timestamp(0, 0), 't': -1})

    def test_what_a_shell_reports(self):
        stats = self.client.local.command('collStats', 'oplog.rs')
        self.assertTrue(stats['capped'])
        listed = next(self.client.local.list_collections(filter={'name': 'oplog.rs'}))
        self.assertEqual(listed['options']['size'], stats['maxSize'])
        self.assertIn('local', self.client.list_database_names())
        first = self.oplog.find().sort('$natural', 1).limit(1).next()
        self.assertLess(first['ts'], self.newest()['ts'])

    def test_survives_a_restart(self):
        self.db.c.insert_one({'_id': 1})
        before = self.since()
        self.server.stop()
        self.server.start()
        self.assertEqual(self.since()[:len(before)], before)

    def test_replayed_entries_give_the_same_collections(self):
        seed = int(os.environ.get('FRESHET_SEED') or random.randrange(1 << 32))
        print('FRESHET_SEED=%d' % seed, flush=True)
        chance = random.Random(seed)
        for _ in range(400):
            write_something(self.db[chance.choice('ab')], self.client, chance)
        copies = {}
        for entry in self.since():
            replay(copies, entry)
        for name in 'ab':
            self.assertEqual(copies['t.' + name], {one['_id']: one for one in self.db[name].find()}, name)


def write_something(collection, client, chance):
    key = chance.randrange(20)
    value = chance.choice([1, 'text', {'x': 1, 'y': [1, 2]}, [1, {'z': 2}, 3], None])
    change = chance.choice([
        {'$set': {chance.choice(['f', 'g.h', 'l.1']): value}}, {'$unset': {chance.choice(['f', 'g.h']): 1}}, {'$push': {'p': value}},
        {'$pop': {'p': 1}}, {'$rename': {'f': 'r'}}, [{'$set': {'s': {'$concatArrays': [{'$ifNull': ['$p', []]}, [1]]}}}]])
    what = chance.randrange(6)
    if what == 0:
        collection.delete_one({'_id': key})
    elif what == 1:
        collection.replace_one({'_id': key}, {'whole': value}, upsert=True)
    elif what == 2:
        with client.start_session() as session, session.start_transaction():
            collection.update_one({'_id': key}, {'$inc': {'n': 1}}, upsert=True, session=session)
            collection.delete_one({'_id': (key + 1) % 20}, session=session)
    else:
        try:
            collection.update_one({'_id': key}, change, upsert=True)
        except pymongo.errors.WriteError:
            pass  # a path through a value of another type


def replay(copies, entry):
    """Does to the copies, {namespace: {_id: document}}, what the entry says."""
    o, copy = entry['o'], copies.setdefault(entry['ns'], {})
    if 'applyOps' in o:
        for one in o['applyOps']:
            replay(copies, one)
    elif entry['op'] == 'u' and '$v' in o:
        copy[entry['o2']['_id']] = with_diff(copy[entry['o2']['_id']], o['diff'])
    elif entry['op'] in 'iu':
        copy[o['_id']] = o
    elif entry['op'] == 'd':
        del copy[o['_id']]


def with_diff(value, diff):
    """A document or array with a diff applied."""
    if diff.get('a') is True:
        result = list(value)
        if 'l' in diff:
            del result[diff['l']:]
        for name, change in diff.items():
            if name[0] == 'u':
                index = int(name[1:])
                result[index:index + 1] = [change]
            elif name[0] == 's':
                result[int(name[1:])] = with_diff(result[int(name[1:])], change)
        return result
    result = {name: field for name, field in value.items() if name not in diff.get('d', {}) and name not in diff.get('i', {})}
    result.update(diff.get('u', {}))
    result.update(diff.get('i', {}))
    for name, change in diff.items():
        if name[0] == 's':
            result[name[1:]] = with_diff(result[name[1:]], change)
    return result


if __name__ == '__main__':
    unittest.main()
